package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

const (
	readFlags  = "feature_flag:read"
	writeFlags = "feature_flag:write"
	flagScope  = "FeatureFlag"
)

// featureFlagEndpoints are those of §5.1.
var featureFlagEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/feature_flags", scope: readFlags, summary: "List feature flags",
		gives: management.List[management.Flag]{}, do: listFlags,
	},
	{
		method: "POST", area: inProject, path: "/feature_flags", scope: writeFlags, summary: "Make a feature flag",
		takes: management.FlagFields, status: http.StatusCreated, gives: management.Flag{},
		do: func(c *call) (any, error) { return c.service.FeatureFlags.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/{id}", scope: readFlags, summary: "Read a feature flag, also a deleted one",
		gives: management.Flag{},
		do:    func(c *call) (any, error) { return c.service.FeatureFlags.Get(c.ctx, c.standing, c.flagID()) },
	},
	{
		method: "PATCH", area: inProject, path: "/feature_flags/{id}", scope: writeFlags, summary: "Change, delete or undelete a feature flag",
		takes: management.FlagFields, gives: management.Flag{}, do: updateFlag,
	},
	{
		method: "PUT", area: inProject, path: "/feature_flags/{id}", scope: writeFlags, summary: "Replace a feature flag",
		takes: management.FlagFields, gives: management.Flag{}, do: updateFlag,
	},
	{
		method: "DELETE", area: inProject, path: "/feature_flags/{id}", scope: writeFlags, summary: "Refused: feature flags are deleted with PATCH and deleted: true",
		status: http.StatusMethodNotAllowed,
		do:     func(*call) (any, error) { return nil, nil },
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/{id}/status", scope: readFlags, summary: "Say whether a feature flag is still of use, and why",
		gives: management.FlagStatus{}, do: flagStatus,
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/{id}/versions", scope: readFlags, summary: "List what a feature flag has been",
		gives: management.List[management.FlagVersion]{},
		do: func(c *call) (any, error) {
			return c.service.FeatureFlags.Versions(c.ctx, c.standing, c.flagID(), c.page())
		},
	},
	{
		method: "POST", area: inProject, path: "/feature_flags/{id}/restore", scope: writeFlags, summary: "Bring an earlier version of a feature flag back",
		takes: management.RestoreFields, gives: management.Flag{},
		do: func(c *call) (any, error) {
			return c.service.FeatureFlags.Restore(c.ctx, c.standing, c.flagID(), c.body)
		},
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/{id}/dependents", scope: readFlags, summary: "List the feature flags that depend on one",
		gives: []management.Dependent{}, do: flagDependents,
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/{id}/dependent_flags", scope: readFlags, summary: "List the feature flags that depend on one, by an older path",
		gives: []management.Dependent{}, do: flagDependents,
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/activity", scope: "activity_log:read", summary: "List changes of feature flags",
		query: activityQuery, gives: activityBody{},
		do: func(c *call) (any, error) { return activityAnswer(c, flagScope, "") },
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/{id}/activity", scope: "activity_log:read", summary: "List changes of a feature flag",
		query: activityQuery, gives: activityBody{}, do: flagActivity,
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/my_flags", scope: readFlags, summary: "List active feature flags with their values for the caller",
		query: []parameterDoc{{"groups", "string", "JSON object of group keys by group type"}},
		gives: []management.MyFlag{}, do: myFlags,
	},
	{
		method: "GET", area: inProject, path: "/feature_flags/evaluation_reasons", scope: readFlags, summary: "Say what feature flags are for a person, and why",
		query: []parameterDoc{{"distinct_id", "string", "of the person"}, {"groups", "string", "JSON object of group keys by group type"}},
		gives: map[string]evaluated{}, do: evaluationReasons,
	},
	{
		method: "POST", area: inProject, path: "/feature_flags/user_blast_radius", scope: readFlags, summary: "Count whom a condition is for",
		takes: management.BlastRadiusFields, gives: management.BlastRadius{},
		do: func(c *call) (any, error) { return c.service.FeatureFlags.BlastRadius(c.ctx, c.standing, c.body) },
	},
	{
		method: "POST", area: inProject, path: "/feature_flags/bulk_keys", scope: readFlags, summary: "Find the keys of feature flags",
		takes: management.BulkKeysFields, gives: management.BulkKeys{}, do: bulkKeys,
	},
}

// flagID is the id of the path, 0 for what is none.
func (c *call) flagID() int64 {
	id, err := strconv.ParseInt(c.part("id"), 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != c.part("id") {
		return 0
	}
	return id
}

// flagHint says where a flag's key stands in a path that wants its id.
func (c *call) flagHint(e *endpoint, err error) error {
	var told *management.Error
	named := c.part("id")
	_, notNumber := strconv.ParseInt(named, 10, 64)
	if !strings.HasPrefix(e.path, "/feature_flags/{id}") || notNumber == nil || !errors.As(err, &told) || told.Kind != management.NotFound {
		return err
	}
	id, lookErr := c.service.FeatureFlags.IDOf(c.ctx, c.standing, named)
	switch {
	case lookErr != nil:
		return lookErr
	case id == 0:
		return management.Missing("Not found. A path names a feature flag by its id, a whole number.")
	}
	return management.Missing("Not found. A path names a feature flag by its id: that of %q is %d.", named, id)
}

func listFlags(c *call) (any, error) {
	v := c.listed
	contexts := v.Either("has_evaluation_contexts")
	if contexts == nil {
		contexts = v.Either("has_evaluation_tags")
	}
	return c.service.FeatureFlags.List(c.ctx, c.standing, management.FlagQuery{
		Page: c.page(), Active: v.Text("active"), Archived: v.Bool("archived"), Creators: v.Ints("created_by_id"), Search: v.Text("search"),
		Key: v.Text("key"), Type: v.Text("type"), Runtime: v.Text("evaluation_runtime"), Excluded: v.Texts("excluded_properties"),
		Tags: v.Texts("tags"), ExcludedTags: v.Texts("excluded_tags"), Contexts: contexts,
		Experimental: v.Either("eligible_for_experiment"), Order: v.Text("order"),
	})
}

func updateFlag(c *call) (any, error) {
	return c.service.FeatureFlags.Update(c.ctx, c.standing, c.flagID(), c.body, c.r.Method == http.MethodPut)
}

func flagStatus(c *call) (any, error) {
	status, err := c.service.FeatureFlags.Status(c.ctx, c.standing, c.flagID())
	if err == nil && !status.Known() {
		return answer{status: http.StatusNotFound, body: status}, nil
	}
	return status, err
}

func flagDependents(c *call) (any, error) {
	return c.service.FeatureFlags.Dependents(c.ctx, c.standing, c.flagID())
}

func flagActivity(c *call) (any, error) {
	id := c.flagID()
	if _, err := c.service.FeatureFlags.Get(c.ctx, c.standing, id); err != nil {
		return nil, err
	}
	return activityAnswer(c, flagScope, strconv.FormatInt(id, 10))
}

// bulkKeys has an error of its own form (§2.3).
func bulkKeys(c *call) (any, error) {
	keys, err := c.service.FeatureFlags.BulkKeys(c.ctx, c.standing, c.body)
	if errors.Is(err, management.ErrNoFlagIDs) {
		return answer{status: http.StatusBadRequest, body: map[string]string{"error": management.ErrNoFlagIDs.Message}}, nil
	}
	return keys, err
}

// decide evaluates the project's flags for a person of the caller's choice. It is
// no flag request: nothing is counted.
func (c *call) decide(distinctID string) (*flags.Answer, error) {
	request := flags.Request{
		APIKey:    c.standing.Project.APIKey,
		Subject:   flags.Subject{DistinctID: distinctID},
		Selection: flags.Selection{Runtime: "all"},
	}
	if text := c.query().Get("groups"); text != "" && json.Unmarshal([]byte(text), &request.Subject.Groups) != nil {
		return nil, management.Fault("groups", "Must be a JSON object of texts.")
	}
	out := &flags.Answer{}
	return out, c.Decider.Preview(c.ctx, &request, out)
}

func myFlags(c *call) (any, error) {
	listed, err := c.service.FeatureFlags.Listed(c.ctx, c.standing)
	if err != nil {
		return nil, err
	}
	decided, err := c.decide(c.standing.User.DistinctID)
	if err != nil {
		return nil, err
	}
	out := []management.MyFlag{}
	for _, f := range listed {
		if !f.Active {
			continue
		}
		mine := management.MyFlag{Flag: f.Minimal, Value: false}
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

func evaluationReasons(c *call) (any, error) {
	distinctID := c.query().Get("distinct_id")
	if distinctID == "" {
		return nil, management.Fault("", "distinct_id is required")
	}
	listed, err := c.service.FeatureFlags.Listed(c.ctx, c.standing)
	if err != nil {
		return nil, err
	}
	decided, err := c.decide(distinctID)
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
