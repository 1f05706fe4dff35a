package httpapi

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

const readFlags = "feature_flag:read"

// flagDesk is what the endpoints of flags stand on.
type flagDesk struct {
	featureflags.Flags
	decider *flags.Decider
	history capture.History // nil: nobody is known
	asker   *asker
}

func flagDeskOf(s *server) flagDesk {
	return flagDesk{s.Management.FeatureFlags.Flags, s.Decider, s.History, askerOf(s)}
}

// featureFlagEndpoints are those of §5.1.
var featureFlagEndpoints = resource(inProject, "feature_flag", flagDeskOf, hinted([]row[flagDesk]{
	by(http.MethodGet, "/feature_flags", "List feature flags", listFlags).giving(management.List[featureflags.Flag]{}).
		asking(parameterDoc{"view", "string", "list: short rows, with counts and a status reason in place of filters"}),
	create("/feature_flags", "Make a feature flag", featureflags.FlagFields, flagDesk.Create),
	get("/feature_flags/{id}", "Read a feature flag, also a deleted one", numbered(flagDesk.Get)),
	by(http.MethodPatch, "/feature_flags/{id}", "Change, delete or undelete a feature flag", updateFlag).orPut("Replace a feature flag").taking(featureflags.FlagFields),
	by(http.MethodDelete, "/feature_flags/{id}", "Refused: feature flags are deleted with PATCH and deleted: true", nothing[flagDesk]).answering(http.StatusMethodNotAllowed),
	by(http.MethodGet, "/feature_flags/{id}/status", "Say whether a feature flag is still of use, and why", flagStatus).giving(featureflags.FlagStatus{}),
	by(http.MethodGet, "/feature_flags/{id}/versions", "List what a feature flag has been", flagVersions),
	by(http.MethodGet, "/feature_flags/{id}/versions/{version}", "Read what a feature flag was in one version", flagVersion),
	turn("/feature_flags/{id}/enable", "Switch a feature flag on", flagDesk.Enable, true),
	turn("/feature_flags/{id}/disable", "Switch a feature flag off", flagDesk.Enable, false),
	turn("/feature_flags/{id}/archive", "Put a feature flag into the archive, which switches it off", flagDesk.Archive, true),
	turn("/feature_flags/{id}/unarchive", "Take a feature flag out of the archive", flagDesk.Archive, false),
	by(http.MethodPost, "/feature_flags/{id}/restore", "Bring an earlier version of a feature flag back", restoreFlag).taking(featureflags.RestoreFields),
	staticCohort,
	onUsage("/feature_flags/{id}/dashboard", "Make the dashboard about the use of a feature flag", flagDesk.MakeUsageDashboard),
	onUsage("/feature_flags/{id}/enrich_usage_dashboard", "Add to the dashboard about the use of a feature flag who saw and used the feature", flagDesk.EnrichUsageDashboard),
	pagedOf("/feature_flags/{id}/pins", "List the values of a feature flag that are pinned for single people and groups", flagDesk.Pins),
	add("/feature_flags/{id}/pins", "Pin a value of a feature flag for a person or a group", featureflags.PinFields, pinValue),
	removeOf("/feature_flags/{id}/pins/{pin}", "Take a pinned value of a feature flag away", unpin),
	get("/feature_flags/{id}/dependents", "List the feature flags that depend on one", numbered(flagDesk.Dependents)),
	get("/feature_flags/{id}/dependent_flags", "List the feature flags that depend on one, by an older path", numbered(flagDesk.Dependents)),
	by(http.MethodGet, "/feature_flags/my_flags", "List active feature flags with their values for the caller", myFlags).
		asking(parameterDoc{"groups", "string", "JSON object of group keys by group type"}),
	by(http.MethodGet, "/feature_flags/evaluation_reasons", "Say what feature flags are for a person, and why", evaluationReasons).
		asking(parameterDoc{"distinct_id", "string", "of the person"}, parameterDoc{"groups", "string", "JSON object of group keys by group type"}),
	by(http.MethodPost, "/feature_flags/user_blast_radius", "Count whom a condition is for", blastRadius).needs(readFlags).taking(featureflags.BlastRadiusFields),
	whoHas,
	by(http.MethodPost, "/feature_flags/bulk_keys", "Find the keys of feature flags", bulkKeys).needs(readFlags).taking(featureflags.BulkKeysFields).giving(featureflags.BulkKeys{}),
	by(http.MethodGet, "/feature_flags/matching_ids", "List the ids of feature flags that match and may be edited", matchingFlags),
	by(http.MethodPost, "/feature_flags/bulk_delete", "Delete feature flags by their ids or all that match", bulkDeleteFlags).taking(featureflags.BulkDeleteFields).giving(featureflags.BulkDeleted{}),
	create("/feature_flags/check", "Say all that is wrong with a feature flag that is not saved yet, each fault at its place", featureflags.CheckFields, flagDesk.Check).needs(readFlags).answering(http.StatusOK),
	create("/feature_flags/bulk", "Change many feature flags alike, each alone", featureflags.BulkChangeFields, flagDesk.BulkChange).answering(http.StatusOK),
	create("/feature_flags/bulk_update_tags", "Add, remove or set the tags of feature flags", featureflags.BulkTagsFields, flagDesk.BulkTags).answering(http.StatusOK),
}))

// flagID is the id of a path, 0 for what is none.
func flagID(text string) int64 {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != text {
		return 0
	}
	return id
}

// numbered gives a method the id of a path as a number.
func numbered[T any](do func(flagDesk, ctx, standing, int64) (T, error)) func(flagDesk, ctx, standing, string) (T, error) {
	return func(of flagDesk, at ctx, st standing, id string) (T, error) { return do(of, at, st, flagID(id)) }
}

func pinValue(of flagDesk, at ctx, st standing, id string, b body) (*featureflags.FlagPin, error) {
	return of.Pin(at, st, flagID(id), b)
}

func unpin(of flagDesk, at ctx, st standing, id, pin string) error {
	return of.Unpin(at, st, flagID(id), pin)
}

// nothing is for what is refused by its status.
func nothing[S any](S, *call) (any, error) { return nil, nil }

// hinted says where a flag's key stands in a path that wants its id.
func hinted(rows []row[flagDesk]) []row[flagDesk] {
	for i := range rows {
		do := rows[i].do
		if !strings.HasPrefix(rows[i].path, "/feature_flags/{id}") {
			continue
		}
		rows[i].do = func(of flagDesk, c *call) (any, error) {
			result, err := do(of, c)
			return result, flagHint(of.Flags, c, err)
		}
	}
	return rows
}

// flagHint says of what is not found that a path names a flag by its id, where it has
// been named by its key.
func flagHint(of featureflags.Flags, c *call, err error) error {
	var target *management.Error
	named := c.part("id")
	_, notNumber := strconv.ParseInt(named, 10, 64)
	if notNumber == nil || !errors.As(err, &target) || target.Kind != management.NotFound {
		return err
	}
	id, lookErr := of.IDOf(c.ctx, c.standing, named)
	switch {
	case lookErr != nil:
		return lookErr
	case id == 0:
		return management.Missing("Not found. A path names a feature flag by its id, a whole number.")
	}
	return management.Missing("Not found. A path names a feature flag by its id: that of %q is %d.", named, id)
}

// listFlags has short rows for pages that show many (spec/console.md N10).
func listFlags(of flagDesk, c *call) (any, error) {
	q := flagQuery(c, c.listed)
	q.Page = c.page()
	if c.query().Get("view") == "list" {
		return of.Rows(c.ctx, c.standing, q)
	}
	return of.List(c.ctx, c.standing, q)
}

// flagQuery is what the parameters of the list of flags ask for.
func flagQuery(c *call, v management.Values) featureflags.FlagQuery {
	contexts := v.Either("has_evaluation_contexts")
	if contexts == nil {
		contexts = v.Either("has_evaluation_tags")
	}
	mine := int64(0)
	if v.Bool("mine") {
		mine = c.standing.User.ID
	}
	return featureflags.FlagQuery{
		Status: v.Texts("status"), Mine: mine,
		Active: v.Text("active"), Archived: v.Bool("archived"), Creators: v.Ints("created_by_id"), Search: v.Text("search"),
		Key: v.Text("key"), Type: v.Text("type"), Runtime: v.Text("evaluation_runtime"), Excluded: v.Texts("excluded_properties"),
		Tags: v.Texts("tags"), ExcludedTags: v.Texts("excluded_tags"), Contexts: contexts,
		Experimental: v.Either("eligible_for_experiment"), Order: v.Text("order"),
	}
}

func matchingFlags(of flagDesk, c *call) (*featureflags.MatchingIDs, error) {
	return of.MatchingIDs(c.ctx, c.standing, flagQuery(c, c.listed))
}

// bulkDeleteFlags has errors of its own form (spec/clients.md §7.3).
func bulkDeleteFlags(of flagDesk, c *call) (any, error) {
	done, err := of.BulkDelete(c.ctx, c.standing, c.body, func(filters json.RawMessage) (featureflags.FlagQuery, error) {
		v, err := listFilters(c.w, "/feature_flags", filters, of.decider.Now())
		return flagQuery(c, v), err
	})
	var plain featureflags.PlainError
	if errors.As(err, &plain) {
		return answer{status: http.StatusBadRequest, body: object{"error": plain.Error()}}, nil
	}
	return done, err
}

// listFilters reads the parameters of a list that stand in a body: texts as they are,
// other values as their JSON. Here an unknown name is refused, as what is not narrowed
// down would be destroyed (spec/clients.md §2.1).
func listFilters(w http.ResponseWriter, path string, filters json.RawMessage, now time.Time) (management.Values, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(filters, &members); err != nil {
		return nil, err
	}
	query, unknown := url.Values{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.ContainsFunc(listOf(path), func(p listParameter) bool { return p.name == name }) {
			unknown = append(unknown, shorten(name))
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
	return (&endpoint{path: path}).readList(w, query, now)
}

func updateFlag(of flagDesk, c *call) (*featureflags.Flag, error) {
	return of.Update(c.ctx, c.standing, flagID(c.part("id")), c.body, c.replaces())
}

func flagStatus(of flagDesk, c *call) (any, error) {
	status, err := of.Status(c.ctx, c.standing, flagID(c.part("id")))
	if err == nil && !status.Known() {
		return answer{status: http.StatusNotFound, body: status}, nil
	}
	return status, err
}

func flagVersions(of flagDesk, c *call) (management.List[featureflags.FlagVersion], error) {
	return of.Versions(c.ctx, c.standing, flagID(c.part("id")), c.page())
}

func flagVersion(of flagDesk, c *call) (*featureflags.FlagVersion, error) {
	return of.Version(c.ctx, c.standing, flagID(c.part("id")), flagID(c.part("version")))
}

// turn is a row that takes no body; its refusal of a deleted flag has a form of its own
// (spec/clients.md §7.2).
func turn(path, summary string, do func(flagDesk, ctx, standing, int64, bool) (*featureflags.Flag, error), to bool) row[flagDesk] {
	return by(http.MethodPost, path, summary, func(of flagDesk, c *call) (any, error) {
		return plainly(do(of, c.ctx, c.standing, flagID(c.part("id")), to))
	}).giving(featureflags.Flag{})
}

// plainly answers refusals that say no more than why.
func plainly(out any, err error) (any, error) {
	var plain featureflags.PlainError
	if errors.As(err, &plain) {
		return answer{status: http.StatusBadRequest, body: object{"success": false, "error": plain.Error()}}, nil
	}
	return out, err
}

// onUsage changes the dashboard about the use of a flag (spec/clients.md §7.2).
func onUsage[T any](path, summary string, do func(flagDesk, ctx, standing, int64) (T, error)) row[flagDesk] {
	return by(http.MethodPost, path, summary, func(of flagDesk, c *call) (any, error) {
		return plainly(do(of, c.ctx, c.standing, flagID(c.part("id"))))
	}).giving(success{})
}

// staticCohort makes a cohort too, so that it needs the scope of that as well.
var staticCohort = func() row[flagDesk] {
	r := act(http.MethodPost, "/feature_flags/{id}/create_static_cohort_for_flag", "Make a static cohort of the persons for whom a feature flag is on", numbered(flagDesk.StaticCohort)).created()
	r.also, r.reads = "cohort:write", true
	return r
}()

// whoHas reads people too, so that it needs the scope of that as well.
var whoHas = func() row[flagDesk] {
	r := by(http.MethodPost, "/feature_flags/{id}/who", "Say who has which value of a feature flag, and whom a change would move", func(of flagDesk, c *call) (*featureflags.Who, error) {
		id := int64(0) // of one that is not saved yet
		if c.part("id") != "0" {
			if id = flagID(c.part("id")); id == 0 {
				return nil, management.ErrNotFound()
			}
		}
		return of.Who(c.ctx, c.standing, id, c.body)
	}).needs(readFlags).taking(featureflags.WhoFields)
	r.also, r.reads = "person:read", true
	return r
}()

func restoreFlag(of flagDesk, c *call) (*featureflags.Flag, error) {
	return of.Restore(c.ctx, c.standing, flagID(c.part("id")), c.body)
}

func blastRadius(of flagDesk, c *call) (*featureflags.BlastRadius, error) {
	return of.BlastRadius(c.ctx, c.standing, c.body)
}

// bulkKeys has an error of its own form (§2.3).
func bulkKeys(of flagDesk, c *call) (any, error) {
	keys, err := of.BulkKeys(c.ctx, c.standing, c.body)
	if errors.Is(err, featureflags.ErrNoFlagIDs) {
		return answer{status: http.StatusBadRequest, body: map[string]string{"error": featureflags.ErrNoFlagIDs.Message}}, nil
	}
	return keys, err
}

// decide evaluates the project's flags for a person of the caller's choice. It is
// no flag request: nothing is counted.
func (of flagDesk) decide(c *call, distinctID string) (*flags.Answer, error) {
	request := flags.Request{
		APIKey:    c.standing.Project.APIKey,
		Subject:   flags.Subject{DistinctID: distinctID},
		Selection: flags.Selection{Runtime: "all"},
	}
	if text := c.query().Get("groups"); text != "" && json.Unmarshal([]byte(text), &request.Subject.Groups) != nil {
		return nil, management.Fault("groups", "Must be a JSON object of texts.")
	}
	out := &flags.Answer{}
	return out, of.decider.Preview(c.ctx, &request, out)
}

func myFlags(of flagDesk, c *call) ([]featureflags.MyFlag, error) {
	listed, err := of.Listed(c.ctx, c.standing)
	if err != nil {
		return nil, err
	}
	decided, err := of.decide(c, c.standing.User.DistinctID)
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

// evaluated is what a flag is for a person, and why.
type evaluated struct {
	Value      any `json:"value"`
	Evaluation struct {
		Reason    string `json:"reason"`
		Condition *int   `json:"condition_index"`
	} `json:"evaluation"`
}

func evaluationReasons(of flagDesk, c *call) (map[string]evaluated, error) {
	distinctID := c.query().Get("distinct_id")
	if distinctID == "" {
		return nil, management.Fault("", "distinct_id is required")
	}
	listed, err := of.Listed(c.ctx, c.standing)
	if err != nil {
		return nil, err
	}
	decided, err := of.decide(c, distinctID)
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
		} else if f.Active { // on a cycle of dependencies, or made just now
			continue
		}
		out[f.Key] = e
	}
	return out, nil
}

// getLocalEvaluation serves definitions below a project's path, to secret and
// personal keys.
func getLocalEvaluation(s *server, w http.ResponseWriter, r *http.Request) error {
	key, err := s.key(r)
	if err != nil {
		return err
	}
	project, err := s.projectOf(r, &key)
	if key.Secret && errors.Is(err, &problemNotFound) { // whether the other project is there is not told
		return &problemForeignProject
	}
	if err != nil {
		return err
	}
	return s.serveDefinitions(w, r, &project)
}
