package manage

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/results"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

const readFlags = "feature_flag:read"

// flagService handles requests about feature flags.
type flagService struct {
	featureflags.Flags
	decider      *serving.Decider
	history      capture.History // if nil, no persons are stored
	queryService *results.Service
}

func flagServiceOf(s *frame.Server) flagService {
	return flagService{*s.Management.FeatureFlags, s.Decider, s.History, results.Of(s)}
}

// featureFlagEndpoints are the endpoints of §5.1.
var featureFlagEndpoints = frame.Resource(frame.InProject, "feature_flag", flagServiceOf, withFlagHint([]frame.Row[flagService]{
	frame.Handle(http.MethodGet, "/feature_flags", "List feature flags", listFlags).WithResponse(management.List[featureflags.Flag]{}).
		WithQuery(frame.Param("view", "string", "list: short rows with counts and the reason for the status instead of filters")),
	frame.Create("/feature_flags", "Create a feature flag", featureflags.Bodies.Flag, flagService.Create),
	frame.Get("/feature_flags/{id}", "Read a feature flag, including a deleted one", withNumericID(flagService.Get)),
	frame.Handle(http.MethodPatch, "/feature_flags/{id}", "Change, delete or restore a feature flag", updateFlag).WithPut("Replace a feature flag").WithBody(featureflags.Bodies.Flag),
	frame.Handle(http.MethodDelete, "/feature_flags/{id}", "Not allowed: use PATCH with deleted: true to delete a feature flag", frame.NoBody[flagService]).WithStatus(http.StatusMethodNotAllowed),
	frame.Handle(http.MethodGet, "/feature_flags/{id}/status", "Read the status of a feature flag, such as active or stale, and the reason", flagStatus).WithResponse(featureflags.FlagStatus{}),
	frame.Handle(http.MethodGet, "/feature_flags/{id}/versions", "List the versions of a feature flag", flagVersions),
	frame.Handle(http.MethodGet, "/feature_flags/{id}/versions/{version}", "Read one version of a feature flag", flagVersion),
	toggleRow("/feature_flags/{id}/enable", "Enable a feature flag", flagService.Enable, true),
	toggleRow("/feature_flags/{id}/disable", "Disable a feature flag", flagService.Enable, false),
	toggleRow("/feature_flags/{id}/archive", "Archive a feature flag, which also disables it", flagService.Archive, true),
	toggleRow("/feature_flags/{id}/unarchive", "Unarchive a feature flag", flagService.Archive, false),
	frame.Handle(http.MethodPost, "/feature_flags/{id}/restore", "Restore an earlier version of a feature flag", restoreFlag).WithBody(featureflags.Bodies.Restore),
	staticCohortRow,
	usageDashboardRow("/feature_flags/{id}/dashboard", "Create the usage dashboard of a feature flag", flagService.MakeUsageDashboard),
	usageDashboardRow("/feature_flags/{id}/enrich_usage_dashboard", "Add insights about feature views and interactions to the usage dashboard of a feature flag", flagService.EnrichUsageDashboard),
	frame.Get("/feature_flags/{id}/followers", "List the users who get notices about a feature flag", flagService.Followers),
	followRow("/feature_flags/{id}/follow", "Follow a feature flag: get the notices about its guarded rollouts", true),
	followRow("/feature_flags/{id}/unfollow", "Do not follow a feature flag any more", false),
	frame.PagedOf("/feature_flags/{id}/pins", "List the values of a feature flag that are pinned for individual persons and groups", flagService.Pins),
	frame.Add("/feature_flags/{id}/pins", "Pin a value of a feature flag for a person or a group", featureflags.Bodies.Pin, withIDAndBody(flagService.Pin)),
	frame.RemoveOf("/feature_flags/{id}/pins/{pin}", "Remove a pinned value of a feature flag", unpin),
	frame.Get("/feature_flags/{id}/dependents", "List the feature flags that depend on this flag", dependentsOf(flagService.Dependents, false)),
	frame.Get("/feature_flags/{id}/dependent_flags", "List the active feature flags that depend on this flag", dependentsOf(flagService.Dependents, true)),
	frame.Handle(http.MethodGet, "/feature_flags/my_flags", "List active feature flags with their values for the calling user", myFlags).
		WithQuery(frame.Param("groups", "string", "JSON object of group keys by group type")),
	frame.Handle(http.MethodGet, "/feature_flags/evaluation_reasons", "Evaluate all feature flags for a person, with reasons", evaluationReasons).
		WithQuery(frame.Param("distinct_id", "string", "distinct id of the person; required"), frame.Param("groups", "string", "JSON object of group keys by group type")),
	frame.Create("/feature_flags/user_blast_radius", "Count the persons or groups that match a condition", featureflags.Bodies.BlastRadius, flagService.BlastRadius).WithScope(readFlags).WithStatus(http.StatusOK),
	flagHoldersRow,
	frame.Handle(http.MethodPost, "/feature_flags/bulk_keys", "Find the keys of feature flags by their ids", bulkKeys).WithScope(readFlags).WithBody(featureflags.Bodies.BulkKeys).WithResponse(featureflags.BulkKeys{}),
	frame.Handle(http.MethodGet, "/feature_flags/tags", "List the tags of feature flags", func(svc flagService, c *frame.Call) (management.List[string], error) {
		return svc.Tags(c.Ctx, c.Scope, c.Page())
	}),
	frame.Handle(http.MethodGet, "/feature_flags/matching_ids", "List the ids of matching feature flags that the caller may edit", matchingFlags),
	frame.Handle(http.MethodPost, "/feature_flags/bulk_delete", "Delete feature flags by ids, or all that match filters", bulkDeleteFlags).WithBody(featureflags.Bodies.BulkDelete).WithResponse(featureflags.BulkDeleteResult{}),
	frame.Create("/feature_flags/check", "Validate a feature flag without saving it, and list all of its faults", featureflags.Bodies.Check, flagService.Check).WithScope(readFlags).WithStatus(http.StatusOK),
	frame.Create("/feature_flags/bulk", "Apply the same change to several feature flags; one that fails does not affect the others", featureflags.Bodies.BulkChange, flagService.BulkChange).WithStatus(http.StatusOK),
	frame.Create("/feature_flags/bulk_update_tags", "Add, remove or replace the tags of feature flags", featureflags.Bodies.BulkTags, flagService.BulkTags).WithStatus(http.StatusOK),
}))

// flagID parses an ID in a path. It returns 0 if text is not a valid ID.
func flagID(text string) int64 {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != text {
		return 0
	}
	return id
}

// withNumericID adapts a method with a numeric ID to the ID in a path.
func withNumericID[T any](do func(flagService, context.Context, *management.Scope, int64) (T, error)) func(flagService, context.Context, *management.Scope, string) (T, error) {
	return func(svc flagService, ctx context.Context, scope *management.Scope, id string) (T, error) {
		return do(svc, ctx, scope, flagID(id))
	}
}

// dependentsOf is withNumericID for a method with an option.
func dependentsOf[T any](do func(flagService, context.Context, *management.Scope, int64, bool) (T, error), onlyActive bool) func(flagService, context.Context, *management.Scope, string) (T, error) {
	return func(svc flagService, ctx context.Context, scope *management.Scope, id string) (T, error) {
		return do(svc, ctx, scope, flagID(id), onlyActive)
	}
}

// withIDAndBody is withNumericID for a method with a body.
func withIDAndBody[T any](do func(flagService, context.Context, *management.Scope, int64, management.Body) (T, error)) func(flagService, context.Context, *management.Scope, string, management.Body) (T, error) {
	return func(svc flagService, ctx context.Context, scope *management.Scope, id string, b management.Body) (T, error) {
		return do(svc, ctx, scope, flagID(id), b)
	}
}

func unpin(svc flagService, ctx context.Context, scope *management.Scope, id, pin string) error {
	return svc.Unpin(ctx, scope, flagID(id), pin)
}

// withFlagHint adds a hint to not found errors if the path contains a flag's key instead of its ID.
func withFlagHint(rows []frame.Row[flagService]) []frame.Row[flagService] {
	for i := range rows {
		do := rows[i].Do
		if !strings.HasPrefix(rows[i].Path, "/feature_flags/{id}") {
			continue
		}
		rows[i].Do = func(svc flagService, c *frame.Call) (any, error) {
			result, err := do(svc, c)
			return result, flagHint(svc.Flags, c, err)
		}
	}
	return rows
}

// flagHint replaces a not found error with one that explains that paths identify flags by ID, if
// the path has something other than a number. If it is the key of a flag, the error contains its
// ID.
func flagHint(svc featureflags.Flags, c *frame.Call, err error) error {
	var target *management.Error
	named := c.Part("id")
	_, notNumber := strconv.ParseInt(named, 10, 64)
	if notNumber == nil || !errors.As(err, &target) || target.Kind != management.NotFound {
		return err
	}
	id, lookErr := svc.IDByKey(c.Ctx, c.Scope, named)
	switch {
	case lookErr != nil:
		return lookErr
	case id == 0:
		return management.Missing("Not found. A path names a feature flag by its id, a whole number.")
	}
	return management.Missing("Not found. A path names a feature flag by its id: that of %q is %d.", named, id)
}

// listFlags lists flags. view=list selects short rows (spec/console.md N10).
func listFlags(svc flagService, c *frame.Call) (any, error) {
	q := flagQuery(c, c.ListValues)
	q.Page = c.Page()
	if c.Query().Get("view") == "list" {
		return svc.Rows(c.Ctx, c.Scope, q)
	}
	return svc.List(c.Ctx, c.Scope, q)
}

// flagQuery converts the query parameters of the list of flags to a query.
func flagQuery(c *frame.Call, v management.Values) featureflags.FlagQuery {
	contexts := v.OptionalBool("has_evaluation_contexts")
	if contexts == nil {
		contexts = v.OptionalBool("has_evaluation_tags")
	}
	mine := int64(0)
	if v.Bool("mine") {
		mine = c.Scope.User.ID
	}
	number := func(name string) *int64 {
		if !v.Has(name) {
			return nil
		}
		return new(v.Int(name))
	}
	return featureflags.FlagQuery{
		Status: v.Texts("status"), Mine: mine, IDs: v.Ints("ids"), Cohort: number("cohort"), Group: number("aggregation_group_type_index"),
		Active: v.Text("active"), Archived: v.Bool("archived"), Creators: v.Ints("created_by_id"), Search: v.Text("search"),
		Key: v.Text("key"), Type: v.Text("type"), Runtime: v.Text("evaluation_runtime"), Excluded: v.Texts("excluded_properties"),
		Tags: v.Texts("tags"), ExcludedTags: v.Texts("excluded_tags"), Contexts: contexts,
		Experimental: v.OptionalBool("eligible_for_experiment"), Order: v.Text("order"),
	}
}

func matchingFlags(svc flagService, c *frame.Call) (*featureflags.MatchingIDs, error) {
	return svc.MatchingIDs(c.Ctx, c.Scope, flagQuery(c, c.ListValues))
}

// bulkDeleteFlags has errors of a special form (spec/clients.md §7.3).
func bulkDeleteFlags(svc flagService, c *frame.Call) (any, error) {
	result, err := svc.BulkDelete(c.Ctx, c.Scope, c.Body, func(filters json.RawMessage) (featureflags.FlagQuery, error) {
		v, err := listFilters(c.W, "/feature_flags/matching_ids", filters, svc.decider.Now())
		return flagQuery(c, v), err
	})
	var plain featureflags.PlainError
	if errors.As(err, &plain) {
		return frame.Answer{Status: http.StatusBadRequest, Body: frame.Object{"error": plain.Error()}}, nil
	}
	return result, err
}

// listFilters validates list parameters that are in the body: strings are used as they are, other
// values as JSON. Unlike in a query string, unknown names are an error, since ignoring a filter
// would delete more flags than intended (spec/clients.md §2.1).
func listFilters(w http.ResponseWriter, path string, filters json.RawMessage, now time.Time) (management.Values, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(filters, &members); err != nil {
		return nil, err
	}
	query, unknown := url.Values{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.ContainsFunc(frame.ListOf(path), func(p frame.ListParameter) bool { return p.Name == name }) {
			unknown = append(unknown, problem.Shorten(name))
			continue
		}
		text, isText := wire.Value(members[name]).(string)
		switch {
		case isText:
			query.Set(name, text)
		case string(members[name]) != "null":
			query.Set(name, string(members[name]))
		}
	}
	if len(unknown) > 0 {
		return nil, featureflags.PlainError("Unknown filter keys: " + strings.Join(unknown, ", "))
	}
	return (&frame.Endpoint{Path: path}).ReadList(w, query, now)
}

func updateFlag(svc flagService, c *frame.Call) (*featureflags.Flag, error) {
	return svc.Update(c.Ctx, c.Scope, flagID(c.Part("id")), c.Body, c.Replaces())
}

func flagStatus(svc flagService, c *frame.Call) (any, error) {
	status, err := svc.Status(c.Ctx, c.Scope, flagID(c.Part("id")))
	if err == nil && !status.Exists() {
		return frame.Answer{Status: http.StatusNotFound, Body: status}, nil
	}
	return status, err
}

func flagVersions(svc flagService, c *frame.Call) (management.List[featureflags.FlagVersion], error) {
	return svc.Versions(c.Ctx, c.Scope, flagID(c.Part("id")), c.Page())
}

func flagVersion(svc flagService, c *frame.Call) (*featureflags.FlagVersion, error) {
	return svc.Version(c.Ctx, c.Scope, flagID(c.Part("id")), flagID(c.Part("version")))
}

// toggleRow returns a row for an endpoint without a request body. Its error for a deleted flag has
// a special form (spec/clients.md §7.2).
func toggleRow(path, summary string, do func(flagService, context.Context, *management.Scope, int64, bool) (*featureflags.Flag, error), enabled bool) frame.Row[flagService] {
	return frame.Handle(http.MethodPost, path, summary, func(svc flagService, c *frame.Call) (any, error) {
		return showPlainError(do(svc, c.Ctx, c.Scope, flagID(c.Part("id")), enabled))
	}).WithResponse(featureflags.Flag{})
}

// showPlainError converts a featureflags.PlainError to a 400 response that contains only its
// message.
func showPlainError(out any, err error) (any, error) {
	var plain featureflags.PlainError
	if errors.As(err, &plain) {
		return frame.Answer{Status: http.StatusBadRequest, Body: frame.Object{"success": false, "error": plain.Error()}}, nil
	}
	return out, err
}

// usageDashboardRow returns a row that changes the usage dashboard of a flag (spec/clients.md
// §7.2).
func usageDashboardRow[T any](path, summary string, do func(flagService, context.Context, *management.Scope, int64) (T, error)) frame.Row[flagService] {
	return frame.Handle(http.MethodPost, path, summary, func(svc flagService, c *frame.Call) (any, error) {
		return showPlainError(do(svc, c.Ctx, c.Scope, flagID(c.Part("id"))))
	}).WithResponse(frame.Success{})
}

// staticCohortRow also creates a cohort, so it requires the scope cohort:write too.
var staticCohortRow = func() frame.Row[flagService] {
	r := frame.Act(http.MethodPost, "/feature_flags/{id}/create_static_cohort_for_flag", "Create a static cohort of the persons for whom a feature flag is enabled", withNumericID(flagService.StaticCohort)).Created()
	r.SecondScope, r.Reads = "cohort:write", true
	return r
}()

// followRow is a row that changes whether the caller follows a flag. Whoever may read the flag may
// follow it.
func followRow(path, summary string, follows bool) frame.Row[flagService] {
	return frame.Handle(http.MethodPost, path, summary, func(svc flagService, c *frame.Call) (*featureflags.Followers, error) {
		return svc.Follow(c.Ctx, c.Scope, c.Part("id"), follows)
	}).WithScope(readFlags)
}

// flagHoldersRow also reads persons, so it requires the scope person:read too.
var flagHoldersRow = func() frame.Row[flagService] {
	r := frame.Handle(http.MethodPost, "/feature_flags/{id}/who", "List the persons with their values of a feature flag, before and after a change", func(svc flagService, c *frame.Call) (*featureflags.Who, error) {
		id := int64(0) // 0 is a flag that is not saved yet
		if c.Part("id") != "0" {
			if id = flagID(c.Part("id")); id == 0 {
				return nil, management.ErrNotFound()
			}
		}
		return svc.Who(c.Ctx, c.Scope, id, c.Body)
	}).WithScope(readFlags).WithBody(featureflags.Bodies.Who)
	r.SecondScope, r.Reads = "person:read", true
	return r
}()

func restoreFlag(svc flagService, c *frame.Call) (*featureflags.Flag, error) {
	return svc.Restore(c.Ctx, c.Scope, flagID(c.Part("id")), c.Body)
}

// bulkKeys has an error of a special form (§2.3).
func bulkKeys(svc flagService, c *frame.Call) (any, error) {
	keys, err := svc.BulkKeys(c.Ctx, c.Scope, c.Body)
	if errors.Is(err, featureflags.ErrNoFlagIDs) {
		return frame.Answer{Status: http.StatusBadRequest, Body: map[string]string{"error": featureflags.ErrNoFlagIDs.Message}}, nil
	}
	return keys, err
}

// decide evaluates the flags of the project for any distinct ID. It does not count as a flag
// request.
func (svc flagService) decide(c *frame.Call, distinctID string) (*serving.Answer, error) {
	request := serving.Request{
		APIKey:    c.Scope.Project.APIKey,
		Subject:   flags.Subject{DistinctID: distinctID},
		Selection: flags.Selection{Runtime: "all"},
	}
	if text := c.Query().Get("groups"); text != "" && json.Unmarshal([]byte(text), &request.Subject.Groups) != nil {
		return nil, management.Fault("groups", "Must be a JSON object of strings.")
	}
	out := &serving.Answer{}
	return out, svc.decider.Preview(c.Ctx, &request, out)
}

// myFlags lists the active flags with their values for the calling user.
func myFlags(svc flagService, c *frame.Call) ([]featureflags.MyFlag, error) {
	listed, err := svc.ListAll(c.Ctx, c.Scope)
	if err != nil {
		return nil, err
	}
	decided, err := svc.decide(c, c.Scope.User.DistinctID)
	if err != nil {
		return nil, err
	}
	out := []featureflags.MyFlag{}
	for _, f := range listed {
		if !f.Active {
			continue
		}
		mine := featureflags.MyFlag{Flag: f.Minimal, Value: false}
		if d := decided.Decisions.Find(f.Key); d != nil {
			mine.Value = d.Value()
		}
		out = append(out, mine)
	}
	return out, nil
}

// evaluated is the value of a flag for a person, with the reason.
type evaluated struct {
	Value      any `json:"value"`
	Evaluation struct {
		Reason    string `json:"reason"`
		Condition *int   `json:"condition_index"`
	} `json:"evaluation"`
}

// evaluationReasons returns the values of all flags for a distinct ID, with the reasons.
func evaluationReasons(svc flagService, c *frame.Call) (map[string]evaluated, error) {
	distinctID := c.Query().Get("distinct_id")
	if distinctID == "" {
		return nil, management.Fault("", "distinct_id is required")
	}
	listed, err := svc.ListAll(c.Ctx, c.Scope)
	if err != nil {
		return nil, err
	}
	decided, err := svc.decide(c, distinctID)
	if err != nil {
		return nil, err
	}
	out := map[string]evaluated{}
	for _, f := range listed {
		e := evaluated{Value: false}
		e.Evaluation.Reason = "disabled"
		if d := decided.Decisions.Find(f.Key); f.Active && d != nil {
			e.Value, e.Evaluation.Reason = d.Value(), d.Reason.Code.String()
			if d.Reason.Condition != flags.NoCondition {
				e.Evaluation.Condition = &d.Reason.Condition
			}
		} else if f.Active { // on a dependency cycle, or created just now
			continue
		}
		out[f.Key] = e
	}
	return out, nil
}
