package httpapi_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
)

// The access rules of a member are removed when the member leaves, even a rule that is created
// concurrently, and a member who returns starts without rules (clients.md §11.3).
func TestManagement_RulesOfFormerMembers(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	ask := func(request, body string) (int, []byte) {
		return o.ask(t, manageStep{Request: request, Body: json.RawMessage(body)})
	}
	if status, body := ask("POST /api/projects/1/dashboards/", `{"name": "Ours"}`); status != http.StatusCreated {
		t.Fatal(status, string(body))
	}
	o.key(t, "owner")
	const rule = `{"access_level": "manager", "organization_member": "0191f0a2-5b1c-7d3e-8f40-000000000102"}`
	var wg sync.WaitGroup
	for _, path := range []string{"dashboards/1/access_controls/", "access_controls/"} {
		for range 8 {
			wg.Go(func() {
				body := rule
				if path == "access_controls/" {
					body = `{"access_level": "admin", "organization_member": "0191f0a2-5b1c-7d3e-8f40-000000000102"}`
				}
				if status, answer := ask("PUT /api/projects/1/"+path, body); status != http.StatusOK && status != http.StatusBadRequest {
					t.Errorf("%d %s", status, answer)
				}
			})
		}
	}
	wg.Go(func() {
		if status, answer := ask("DELETE /api/organizations/"+officeOrg+"/members/"+o.vars["member"]+"/", ""); status != http.StatusNoContent {
			t.Errorf("%d %s", status, answer)
		}
	})
	wg.Wait()
	for _, path := range []string{"dashboards/1/access_controls/", "access_controls/"} {
		var got struct {
			Rules []any `json:"access_controls"`
		}
		if _, body := ask("GET /api/projects/1/"+path, ""); json.Unmarshal(body, &got) != nil || len(got.Rules) != 0 {
			t.Errorf("%s: rules of somebody who has left: %s", path, body)
		}
	}
	if status, body := o.ask(t, manageStep{As: "member", Request: "GET /api/projects/1/dashboards/1/"}); status != http.StatusForbidden {
		t.Errorf("who has left: %d %s", status, body)
	}
}
