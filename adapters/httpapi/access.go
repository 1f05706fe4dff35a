package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// PeopleAdmin writes people and groups where no event does. Its errors are a
// *capture.Refusal for what the caller has to mend, capture.ErrUnavailable when
// the store does not take it now, and mistakes of ours.
type PeopleAdmin interface {
	// ErasePerson takes a person away, with the events of that person if asked
	// (decision 17). False: there is no such person.
	ErasePerson(ctx context.Context, projectID int64, id capture.UUID, withEvents bool) (bool, error)
	// EraseEvents takes the events of a person away; the person stays.
	EraseEvents(ctx context.Context, projectID int64, id capture.UUID) error
	// SplitPerson gives each of the ids that are the person's, but main, a person of
	// its own: see capture.SplitPerson.
	SplitPerson(ctx context.Context, projectID int64, id capture.UUID, ids []string, main string) (bool, error)
	// UnsetGroupProperty takes a property of a group away. False: there is none.
	UnsetGroupProperty(ctx context.Context, projectID int64, id capture.GroupID, name string) (bool, error)
	// ImportPerson makes a person with all of its distinct ids, or replaces the
	// person of that uuid (decision 26). ID and Version are not looked at.
	ImportPerson(ctx context.Context, projectID int64, p capture.StoredPerson) error
	// ImportGroup makes a group, or replaces it. The name is that of its type;
	// Group.Type is not looked at.
	ImportGroup(ctx context.Context, projectID int64, typeName string, g capture.Group) error
}

// reader is what the routes that read back stand on. People may be nil: then
// nothing can be erased or imported.
type reader struct {
	*server
	history capture.History
	people  PeopleAdmin
}

// readTime bounds one request that reads back: searches and filters may look at
// many persons.
const readTime = 20 * time.Second

// action is one method of a resource: the scope that it needs (§1.4), and what it
// does in a project that the key opens.
type action struct {
	scope  string
	handle func(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error
}

// resource is a path below a project and its methods. GET serves HEAD too.
type resource struct {
	path    string
	actions map[string]action
}

// THE TABLE: every route that is served with a History, under both
// /api/projects/{project} and /api/environments/{project} (§1.7).
var resources = []resource{
	{"/events", map[string]action{"GET": {"query:read", listEvents}}},
	{"/events/{event}", map[string]action{"GET": {"query:read", getEvent}}},
	{"/persons", map[string]action{"GET": {"person:read", listPersons}}},
	{"/persons/bulk_delete", map[string]action{"POST": {"person:write", bulkDeletePersons}}},
	{"/persons/values", map[string]action{"GET": {"person:read", personValues}}},
	{"/persons/{person}", map[string]action{
		"GET": {"person:read", getPerson}, "DELETE": {"person:write", deletePerson},
		"PATCH": {"person:write", patchPerson}, "PUT": {"person:write", patchPerson},
	}},
	{"/persons/{person}/update_property", map[string]action{"POST": {"person:write", updatePersonProperty}}},
	{"/persons/{person}/delete_property", map[string]action{"POST": {"person:write", deletePersonProperty}}},
	{"/persons/{person}/delete_events", map[string]action{"POST": {"person:write", deletePersonEvents}}},
	{"/persons/{person}/split", map[string]action{"POST": {"person:write", splitPerson}}},
	{"/groups_types", map[string]action{"GET": {"group:read", listGroupTypes}}},
	{"/groups_types/update_metadata", map[string]action{"PATCH": {"group:write", updateGroupTypes}}},
	{"/groups", map[string]action{"GET": {"group:read", listGroups}, "POST": {"group:write", createGroup}}},
	{"/groups/find", map[string]action{"GET": {"group:read", findGroup}}},
	{"/groups/update_property", map[string]action{"POST": {"group:write", updateGroupProperty}}},
	{"/groups/delete_property", map[string]action{"POST": {"group:write", deleteGroupProperty}}},
	{"/property_definitions", map[string]action{"GET": {"property_definition:read", listPropertyDefinitions}}},
	{"/event_definitions", map[string]action{"GET": {"event_definition:read", listEventDefinitions}}},
	{"/ingestion_warnings", map[string]action{"GET": {"project:read", listWarnings}}},
	{"/import", map[string]action{"POST": {"person:write", postImport}}},
}

// readsMuch are the scopes whose endpoints have the limits of reading (§2.6).
var readsMuch = map[string]bool{"query:read": true, "person:read": true}

// historyRoutes are the rows of the table of routes for resources.
func (s *server) historyRoutes(h capture.History, people PeopleAdmin) []route {
	rd := &reader{s, h, people}
	var rows []route
	for _, prefix := range []string{"/api/projects/{project}", "/api/environments/{project}"} {
		for _, res := range resources {
			row := route{path: prefix + res.path, methods: methods{}}
			allow := []string{"OPTIONS"}
			for method, a := range res.actions {
				row.methods[method] = rd.open(a, &endpoint{method: method, path: res.path})
				allow = append(allow, method)
				if method == http.MethodGet {
					row.methods[http.MethodHead] = headJSON
					allow = append(allow, http.MethodHead)
				}
			}
			slices.Sort(allow)
			row.allow = strings.Join(allow, ", ")
			rows = append(rows, row)
		}
	}
	return rows
}

// open checks key, scope and project, in the order of §1.5, and then the
// parameters of a list, before an action.
func (rd *reader) open(a action, e *endpoint) handler {
	return func(_ *server, w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), readTime)
		defer cancel()
		r = r.WithContext(ctx)
		project, standing, err := rd.entered(w, r, a.scope)
		if err != nil {
			return err
		}
		if e.isList() {
			values, err := e.readList(w, r.URL.Query(), rd.Decider.Now())
			if err != nil {
				return managementProblem(err)
			}
			r = withListed(r, &listing{values, standing})
		}
		return storeProblem(a.handle(rd, w, withProjectKey(r, project.APIKey), project.ID))
	}
}

// entered is the project that a request is about, of which its ID and APIKey are
// known, and with a Management where its caller stands there.
func (rd *reader) entered(w http.ResponseWriter, r *http.Request, scope string) (flags.Project, *management.Standing, error) {
	if rd.Management != nil {
		c := &call{server: rd.server, ctx: r.Context(), w: w, r: r, service: rd.Management}
		if err := c.enter(&endpoint{scope: scope, area: inProject, reads: readsMuch[scope]}); err != nil {
			return flags.Project{}, nil, managementProblem(err)
		}
		return flags.Project{ID: c.standing.Project.ID, APIKey: c.standing.Project.APIKey}, c.standing, nil
	}
	key, err := rd.caller(r)
	if err != nil {
		return flags.Project{}, nil, err
	}
	if !key.may(scope) {
		return flags.Project{}, nil, problemScope.with("'"+scope+"'", "")
	}
	project, err := rd.nestedProject(r, &key)
	return project, nil, err
}

// projectKey is where a request's context keeps the public key of its project,
// for actions that send events.
type projectKey struct{}

func withProjectKey(r *http.Request, key string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), projectKey{}, key))
}

// THE TABLE: errors of access (§1.5) and of the resources.
var (
	problemKeyInHeader   = problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "Personal API key found in request Authorization header is invalid."}
	problemKeyInQuery    = problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "Personal API key found in request query string is invalid."}
	problemScope         = problem{Status: 403, Type: "authentication_error", Code: "permission_denied", Detail: "API key missing required scope"}
	problemProject       = problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Project not found."}
	problemRequired      = problem{Status: 400, Type: "validation_error", Code: "required", Detail: "This field is required."}
	problemInvalidInput  = problem{Status: 400, Type: "validation_error", Code: "invalid_input"}
	problemParse         = problem{Status: 400, Type: "invalid_request", Code: "parse_error", Detail: "JSON parse error -"}
	problemInvalidChoice = problem{Status: 400, Type: "validation_error", Code: "invalid_choice"}
	problemReadOnly      = problem{Status: 503, Type: "server_error", Code: "service_unavailable", Detail: "This server cannot change people."}
)

// invalid is a value that cannot be used, and where it stands.
func invalid(attr, format string, args ...any) *problem {
	return problemInvalidInput.with("", attr).say(format, args...)
}

// say replaces the detail.
func (p *problem) say(format string, args ...any) *problem {
	p.Detail = fmt.Sprintf(format, args...)
	return p
}

// storeProblem puts the errors of the store into words. The cause stays for the
// log.
func storeProblem(err error) error {
	var told *problem
	var refusal *capture.Refusal
	switch {
	case err == nil || errors.As(err, &told):
		return err
	case errors.As(err, &refusal):
		return invalid(refusal.Attr, "%s", refusal.Detail)
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, capture.ErrUnavailable), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", flags.ErrUnavailable, err)
	}
	return err
}

// caller looks for the personal key of a request where §1.2 says, but for the
// body: in the header, then in the query. The first that stands anywhere counts.
// A secret key is none (§1.11).
func (rd *reader) caller(r *http.Request) (Key, error) {
	text, wrong := managementBearer(r), &problemKeyInHeader
	if text == "" {
		text, wrong = strings.TrimSpace(r.URL.Query().Get("personal_api_key")), &problemKeyInQuery
	}
	if text == "" {
		return Key{}, noCredentials(r)
	}
	if rd.Keys == nil {
		return Key{}, wrong
	}
	key, err := rd.Keys.Key(r.Context(), text)
	switch {
	case errors.Is(err, ErrUnknownKey), err == nil && key.Secret:
		return Key{}, rd.failed(r, wrong)
	case err != nil:
		return Key{}, errors.Join(flags.ErrUnavailable, err)
	}
	return key, nil
}

// managementBearer is the key of the Authorization header.
func managementBearer(r *http.Request) string { return bearer(r) }

// may reports whether the key's scopes hold one: write holds read (§1.4).
func (k *Key) may(scope string) bool {
	object, read := strings.CutSuffix(scope, ":read")
	return slices.ContainsFunc(k.Scopes, func(has string) bool {
		return has == "*" || has == scope || read && has == object+":write"
	})
}

// nestedProject is the project of the path, or the one that a token in the query
// of a GET names (§1.7). A project that the key does not open is told from one
// that is not there only by its token: ids say nothing about other projects.
func (rd *reader) nestedProject(r *http.Request, key *Key) (flags.Project, error) {
	if token := queryToken(r); token != "" {
		p, _, err := rd.Decider.Project(r.Context(), token)
		if err == nil && !slices.Contains(key.Projects, token) {
			err = problemForeignProject.with("", "").say("API key does not have access to the requested project: ID %d.", p.ID)
		}
		return p, err
	}
	named := parameter(r, "project")
	id, err := strconv.ParseInt(named, 10, 64)
	if named != "@current" && (err != nil || id <= 0 || strconv.FormatInt(id, 10) != named) {
		return flags.Project{}, &problemProject
	}
	for _, apiKey := range key.Projects {
		p, _, err := rd.Decider.Project(r.Context(), apiKey)
		switch {
		case errors.Is(err, flags.ErrUnknownKey): // the key is older than the end of one of its projects
		case err != nil:
			return flags.Project{}, err
		case named == "@current" || p.ID == id:
			return p, nil
		}
	}
	return flags.Project{}, &problemProject
}

func queryToken(r *http.Request) string {
	if r.Method != http.MethodGet {
		return ""
	}
	q := r.URL.Query()
	if token := q.Get("token"); token != "" {
		return token
	}
	return q.Get("api_key")
}

// reply sends a value as JSON.
func (rd *reader) reply(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	rd.write(w, status, body)
	return nil
}

// encode writes JSON without the escapes that are for HTML.
func encode(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// stamp is a time as §2.4 writes it: UTC, with microseconds unless they are 0.
type stamp time.Time

// MarshalJSON implements json.Marshaler. A zero time is null.
func (t stamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return instant(t).MarshalJSON()
}

// instant is a time that is always there: the zero time is the first moment of the
// year 1, which an event may have.
type instant time.Time

// MarshalJSON implements json.Marshaler.
func (t instant) MarshalJSON() ([]byte, error) {
	at := time.Time(t).UTC()
	if at.Nanosecond() < 1000 {
		return []byte(at.Format(`"2006-01-02T15:04:05Z"`)), nil
	}
	return []byte(at.Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}

// boolParameter reads a switch of the query: there without a value, or with any
// but false, 0 and no, it is on.
func boolParameter(q url.Values, name string) bool {
	if !q.Has(name) {
		return false
	}
	switch strings.ToLower(q.Get(name)) {
	case "false", "0", "no":
		return false
	}
	return true
}
