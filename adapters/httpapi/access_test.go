package httpapi_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/bunting-flags/bunting/capture"
)

// spec/management.md §1.2, §1.4, §1.5, §1.7 and the related rows of §6; the texts are from the
// specification.
func TestManagement_1_5_Access(t *testing.T) {
	const (
		unauthenticated = "Authentication credentials were not provided."
		badHeader       = "Personal API key found in request Authorization header is invalid."
		badQuery        = "Personal API key found in request query string is invalid."
	)
	tests := map[string]struct {
		method, path, authorization string
		status                      int
		detail                      string // empty if the request succeeds
	}{
		"1 no credential":          {"GET", "/api/projects/1/persons/", "", 401, unauthenticated},
		"2 unknown key":            {"GET", "/api/projects/1/persons/", "Bearer phx_wrong", 401, badHeader},
		"3 unknown in the query":   {"GET", "/api/projects/1/persons/?personal_api_key=wrong", "", 401, badQuery},
		"good in the query":        {"GET", "/api/projects/1/persons/?personal_api_key=phx_all", "", 200, ""},
		"4 the header wins":        {"GET", "/api/projects/1/persons/?personal_api_key=wrong", "Bearer phx_all", 200, ""},
		"5 the wrong header too":   {"GET", "/api/projects/1/persons/?personal_api_key=phx_all", "Bearer phx_wrong", 401, badHeader},
		"6 blanks":                 {"GET", "/api/projects/1/persons/", "Bearer   phx_all  ", 200, ""},
		"7 no scheme":              {"GET", "/api/projects/1/persons/", "phx_all", 401, unauthenticated},
		"7 another scheme":         {"GET", "/api/projects/1/persons/", "Basic phx_all", 401, unauthenticated + " The Authorization header has to be: Bearer"},
		"an older scheme":          {"GET", "/api/projects/1/persons/", "Token phx_all", 200, ""},
		"the case does not count":  {"GET", "/api/projects/1/persons/", "bearer phx_all", 200, ""},
		"8 read is not write":      {"DELETE", "/api/projects/1/persons/1/", "Bearer phx_persons", 403, "API key missing required scope 'person:write'"},
		"9 write is read":          {"GET", "/api/projects/1/persons/", "Bearer phx_write", 200, ""},
		"another object":           {"GET", "/api/projects/1/groups/?group_type_index=0", "Bearer phx_persons", 403, "API key missing required scope 'group:read'"},
		"no scopes":                {"GET", "/api/projects/1/events/", "Bearer phx_none", 403, "API key missing required scope 'query:read'"},
		"no scope, other project":  {"GET", "/api/projects/2/events/", "Bearer phx_none", 403, "API key missing required scope 'query:read'"},
		"12 no slash":              {"GET", "/api/projects/1/persons", "Bearer phx_all", 200, ""},
		"16 unknown project":       {"GET", "/api/environments/999999/persons/", "Bearer phx_all", 404, "Project not found."},
		"17 no number":             {"GET", "/api/environments/abc/persons/", "Bearer phx_all", 404, "Project not found."},
		"decision 26: form of ids": {"GET", "/api/projects/01/persons/", "Bearer phx_all", 404, "Project not found."},
		"another's project":        {"GET", "/api/projects/2/persons/", "Bearer phx_all", 403, "API key does not have access to the requested project: ID 2."},
		"current":                  {"GET", "/api/projects/@current/persons/", "Bearer phx_all", 200, ""},
		"environments":             {"GET", "/api/environments/1/persons/", "Bearer phx_all", 200, ""},
		"by token":                 {"GET", "/api/projects/77/persons/?token=phc_one", "Bearer phx_all", 200, ""},
		"another's token":          {"GET", "/api/projects/1/persons/?token=phc_two", "Bearer phx_all", 403, "API key does not have access to the requested project: ID 2."},
		"73 a secret key":          {"GET", "/api/projects/1/persons/", "Bearer phs_one", 401, badHeader},
		"the store of keys fails":  {"GET", "/api/projects/1/persons/", "Bearer " + brokenKey, 503, "A service dependency"},
		"POST makes no person":     {"POST", "/api/projects/1/persons/", "Bearer phx_all", 405, "Method"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newArchive(t).handler(t)
			var headers []string
			if tt.authorization != "" {
				headers = []string{"Authorization", tt.authorization}
			}
			w := ask(h, tt.method, tt.path, "", headers...)
			if tt.detail == "" {
				if w.Code != tt.status {
					t.Errorf("%d %s, want %d", w.Code, w.Body, tt.status)
				}
				return
			}
			problem := checkError(t, w, tt.status)
			if got, _ := problem["detail"].(string); len(got) < len(tt.detail) || got[:len(tt.detail)] != tt.detail {
				t.Errorf("detail %q, want %q", got, tt.detail)
			}
			if got := w.Header().Get("WWW-Authenticate"); (got == "Bearer") != (tt.status == 401) {
				t.Errorf("WWW-Authenticate %q with %d", got, tt.status)
			}
		})
	}
}

func TestReading_Failures(t *testing.T) {
	tests := map[string]struct {
		failure error
		status  int
	}{
		"the store is away": {capture.ErrUnavailable, 503},
		"a fault of ours":   {errors.New("secret words"), 500},
	}
	paths := []string{
		"/events/", "/persons/", "/persons/77/", "/persons/?distinct_id=ada", "/groups_types/", "/groups/?group_type_index=0",
		"/groups/find/?group_type_index=0&group_key=x", "/property_definitions/", "/event_definitions/", "/ingestion_warnings/",
	}
	for name, tt := range tests {
		for _, path := range paths {
			t.Run(name+path, func(t *testing.T) {
				a := newArchive(t)
				a.failure = tt.failure
				w := a.refuses(t, "GET", "/api/projects/1"+path, "", tt.status, "")
				if tt.status == 503 && w.Header().Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
			})
		}
	}
}

// No parameter returns data of another project.
func TestReading_NoLeak(t *testing.T) {
	for path, want := range map[string]int{
		"/events/?distinct_id=ada":                           200,
		"/events/?event=foreign":                             200,
		"/events/?order=recorded":                            200,
		"/events/?person_id=" + uuidOf(9).String():           200,
		"/events/" + uuidOf(102).String() + "/":              404,
		"/persons/":                                          200,
		"/persons/9/":                                        404,
		"/persons/" + uuidOf(9).String() + "/":               404,
		"/groups/?group_type_index=0":                        200,
		"/groups/?group_type_index=0&group_key=foreign":      200,
		"/groups/find/?group_type_index=0&group_key=foreign": 404,
		"/property_definitions/?search=foreign":              200,
		"/ingestion_warnings/":                               200,
	} {
		w := ask(newArchive(t).handler(t), "GET", "/api/projects/1"+path, "", "Authorization", "Bearer phx_all")
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
		var answer struct {
			Results []map[string]any `json:"results"`
		}
		decodeJSON(t, w.Body.Bytes(), &answer)
		for _, r := range answer.Results {
			for _, member := range []string{"uuid", "event", "group_key", "name", "type"} {
				if v := r[member]; v == "foreign" || v == uuidOf(9).String() || v == uuidOf(102).String() {
					t.Errorf("%s shows %v", path, r)
				}
			}
		}
	}
}

func TestReading_HEAD(t *testing.T) {
	if w := ask(newArchive(t).handler(t), http.MethodHead, "/api/projects/1/persons/", "", "Authorization", "Bearer phx_all"); w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
