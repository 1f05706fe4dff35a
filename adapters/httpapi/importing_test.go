package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

const importPath = "/api/projects/1/import/"

// Decision 26: an import preserves the uuids of persons.
func TestImport_Lines(t *testing.T) {
	body := `{"type":"person","uuid":"` + uuidOf(50).String() + `","distinct_ids":["x","y"],"properties":{"n":1.0,"big":12345678901234567890},"created_at":"2025-01-02T03:04:05.000006Z","is_identified":true}

{"type":"group","group_type":"company","group_key":"acme","group_properties":{"a":null},"created_at":"2025-01-02T03:04:05Z"}
{"type":"person","uuid":"x","distinct_ids":["x"]}
{"type":"person","uuid":"` + uuidOf(51).String() + `","distinct_ids":[]}
{"type":"person","uuid":"` + uuidOf(51).String() + `","distinct_ids":["taken"]}
{"type":"person","uuid":"` + uuidOf(51).String() + `","distinct_ids":["z"],"properties":[]}
{"type":"person","uuid":"` + uuidOf(51).String() + `","distinct_ids":["z"],"created_at":"then"}
{"type":"event","event":"x"}
{bad
{"type":"group","group_key":"acme"}
{"type":"person","uuid":"` + uuidOf(52).String() + `","distinct_ids":["z"]}`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(body))
	_ = z.Close()
	for name, body := range map[string]string{"plain": body, "gzip": packed.String()} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			w := ask(a.handler(t), "POST", importPath, body, "Authorization", "Bearer phx_write")
			if w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			var got struct {
				Imported, Failed int
				Errors           []struct {
					Line   int
					Detail string
				}
			}
			decodeJSON(t, w.Body.Bytes(), &got)
			if got.Imported != 3 || got.Failed != 8 {
				t.Errorf("imported %d, failed %d", got.Imported, got.Failed)
			}
			wantErrors := map[int]string{4: "uuid", 5: "distinct_ids", 6: "belongs to another", 7: "properties", 8: "created_at", 9: "/batch/", 10: "not a line of an export", 11: "group_type"}
			for _, e := range got.Errors {
				if want := wantErrors[e.Line]; want == "" || !strings.Contains(e.Detail, want) {
					t.Errorf("line %d: %q, want %q in it", e.Line, e.Detail, want)
				}
			}
			if len(got.Errors) != len(wantErrors) {
				t.Errorf("%d errors", len(got.Errors))
			}
			want := []capture.StoredPerson{
				{DistinctIDs: []string{"x", "y"}, Person: capture.Person{
					UUID: uuidOf(50), Identified: true, CreatedAt: time.Date(2025, 1, 2, 3, 4, 5, 6000, time.UTC),
					Properties: capture.Object{{Key: "big", Value: "12345678901234567890"}, {Key: "n", Value: "1.0"}},
				}},
				{DistinctIDs: []string{"z"}, Person: capture.Person{
					UUID: uuidOf(52), CreatedAt: time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC), // the clock of the test
					Properties: capture.Object{},
				}},
			}
			if diff := cmp.Diff(want, a.imported); diff != "" {
				t.Errorf("persons (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{`company/acme {"a":null}`}, a.groupsIn); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImport_Rejects(t *testing.T) {
	a := newArchive(t)
	a.refuses(t, "POST", importPath, strings.Repeat("{}\n", 10_001), 400, "at most 10000")
	a.refuses(t, "POST", importPath, "\x1f\x8b\x08broken", 400, "GZIP")
	a.refuses(t, "POST", importPath, strings.Repeat(" ", 20<<20+1), 413, "larger than")
	a.refuses(t, "POST", importPath, "{}", 403, "person:write", "Authorization", "Bearer phx_persons")
	a.failure = capture.ErrUnavailable
	a.refuses(t, "POST", importPath, `{"type":"group","group_type":"company","group_key":"a"}`, 503, "temporarily unavailable")
	var many strings.Builder
	for range 150 {
		many.WriteString("{}\n")
	}
	w := ask(newArchive(t).handler(t), "POST", importPath, many.String(), "Authorization", "Bearer phx_all")
	if !strings.Contains(w.Body.String(), `"failed":150`) || strings.Count(w.Body.String(), `"line"`) != 100 {
		t.Errorf("150 faults: %s", truncate(w.Body.Bytes()))
	}
}

func FuzzImport(f *testing.F) {
	f.Add(`{"type":"person","uuid":"a0000000-0000-0000-0000-000000000001","distinct_ids":["x"],"properties":{}}`)
	f.Add(`{"type":"group","group_type":"company","group_key":"acme","group_properties":{"a":[1,{}]}}`)
	f.Add("\x1f\x8b\x08\n[]\n{")
	f.Fuzz(func(t *testing.T, body string) {
		w := ask(newArchive(t).handler(t), "POST", importPath, body, "Authorization", "Bearer phx_all")
		if w.Code >= 500 {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}

func FuzzPersonFilters(f *testing.F) {
	f.Add(`[{"key":"plan","value":"pro","operator":"exact"}]`)
	f.Add(`[{"key":"a","value":"(?=x)y","operator":"regex","negation":true}]`)
	f.Add(`]}]}}],"cohorts":{"1":{"type":"AND"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		w := ask(newArchive(t).handler(t), "GET", "/api/projects/1/persons/"+filters(text), "", "Authorization", "Bearer phx_all")
		if w.Code != 200 && w.Code != 400 {
			t.Errorf("%q: %d %s", text, w.Code, w.Body)
		}
	})
}
