package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// definitions stores n definitions with some padding in project 1.
func (o *office) definitions(t *testing.T, kind management.DefinitionKind, n, padding int) {
	t.Helper()
	name := strings.Repeat("x", padding)
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		for i := range n {
			d := management.Definition{ID: int64(1000 + i), Key: fmt.Sprint("key", i), Meta: []byte(`{}`)}
			d.Record = fmt.Appendf(nil, `{"id":%d,"key":%q,"name":%q,"active":false,"filters":{"groups":[]}}`, d.ID, d.Key, name)
			if kind == management.CohortDefinition {
				d.Key, d.Record = "", fmt.Appendf(nil, `{"id":%d,"name":%q,"filters":{"properties":{"type":"OR","values":[]}}}`, d.ID, name)
			}
			if err := tx.PutDefinition(kind, 1, &d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantLimit checks that requests are refused with a limit.
func (o *office) wantLimit(t *testing.T, limit string, requests ...string) {
	t.Helper()
	for _, request := range requests {
		head, body, _ := strings.Cut(request, " {")
		answer := o.do(t, head, "{"+body, 400)
		if code, _ := dig(answer, "code"); code != "limit_exceeded" || !strings.Contains(string(answer), limit) {
			t.Errorf("%s: %s, want %q", head, answer, limit)
		}
	}
}

// A project has at most 20,000 flags, by every way of creating them.
func TestDefinitions_AtMost20000Flags(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.do(t, "POST /api/projects/2/feature_flags/", `{"key":"elsewhere"}`, 201)
	o.definitions(t, management.FlagDefinition, 20_000, 0)
	const limit = "A project has at most 20000 feature flags"
	o.wantLimit(t, limit,
		`POST /api/projects/1/feature_flags/ {"key":"one-more"}`,
		`POST /api/projects/1/feature_flags/apply/ {"flags":[{"key":"one-more","active":true,"filters":{"groups":[]}}]}`,
		`POST /api/projects/1/early_access_feature/ {"name":"One more","stage":"beta"}`,
	)
	copied := o.do(t, "POST /api/organizations/"+officeOrg+"/feature_flags/copy_flags/", `{"feature_flag_key":"elsewhere","from_project":2,"target_project_ids":[1]}`, 200)
	if !strings.Contains(string(copied), limit) {
		t.Errorf("copied: %s", copied)
	}
	o.do(t, "PATCH /api/projects/1/feature_flags/1000/", `{"active":true}`, 200)
	o.do(t, "PATCH /api/projects/1/feature_flags/1000/", `{"deleted":true}`, 200)
	o.do(t, "POST /api/projects/1/feature_flags/", `{"key":"one-more"}`, 201)
	o.wantLimit(t, limit, `PATCH /api/projects/1/feature_flags/1000/ {"deleted":false}`, `POST /api/projects/1/feature_flags/ {"key":"two-more"}`)
}

func TestDefinitions_AtMost10000Cohorts(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.definitions(t, management.CohortDefinition, 10_000, 0)
	const tree = `"filters":{"properties":{"type":"OR","values":[]}}`
	o.wantLimit(t, "A project has at most 10000 cohorts",
		`POST /api/projects/1/cohorts/ {"name":"one more",`+tree+`}`,
		`POST /api/projects/1/cohorts/ {"name":"one more","is_static":true}`,
	)
	o.do(t, "PATCH /api/projects/1/cohorts/1000/", `{"deleted":true}`, 200)
	o.do(t, "POST /api/projects/1/cohorts/", `{"name":"one more",`+tree+`}`, 201)
}

// A project has at most 64 MiB of definitions.
func TestDefinitions_AtMost64MiB(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.definitions(t, management.FlagDefinition, 63, 1<<20)
	payload, _ := json.Marshal(`"` + strings.Repeat("y", 200<<10) + `"`) // JSON in a string
	var answer []byte
	created := 0
	for ; created < 10; created++ {
		body := fmt.Sprintf(`{"key":"large%d","filters":{"groups":[{"properties":[],"rollout_percentage":100}],"payloads":{"true":%s}}}`, created, payload)
		status, _, got := o.send(t, &manageStep{Request: "POST /api/projects/1/feature_flags/", Body: json.RawMessage(body)})
		if answer = got; status != 201 {
			break
		}
	}
	if created == 0 || created > 5 || !strings.Contains(string(answer), "at most 67108864 bytes") {
		t.Fatalf("%d more flags of 200 KiB, then %.300s", created, answer)
	}
	o.do(t, "PATCH /api/projects/1/feature_flags/1000/", `{"name":"smaller"}`, 200)
	o.do(t, "POST /api/projects/1/feature_flags/", fmt.Sprintf(`{"key":"fits","filters":{"groups":[{"properties":[],"rollout_percentage":100}],"payloads":{"true":%s}}}`, payload), 201)
}
