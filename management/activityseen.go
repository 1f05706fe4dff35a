package management

import "slices"

// ruledScopes are what the log calls the kinds of things that access rules may hide.
var ruledScopes = map[string]string{
	"Action": "action", "Cohort": "cohort", "Dashboard": "dashboard", "Experiment": "experiment", "ExperimentHoldout": "experiment", "ExperimentSavedMetric": "experiment", "FeatureFlag": "feature_flag",
	"Insight": "insight", "Survey": "survey",
}

// mentions are the fields of things that show other things, and of which kind those are.
var mentions = map[string]string{
	"feature_flag": "feature_flag", "feature_flag_key": "feature_flag", "feature_flag_keys": "feature_flag",
	"linked_flag": "feature_flag", "targeting_flag": "feature_flag", "internal_targeting_flag": "feature_flag",
	"insight": "insight", "insight_name": "insight", "insight_short_id": "insight", "insight_derived_name": "insight",
	"dashboard_name": "dashboard", "surveys": "survey", "links": "survey",
}

// hides reports whether rules hide something of a kind from the caller, unless it is the
// caller's own.
func (st *Standing) hides(kind string) bool {
	if !st.Ruled() {
		return false
	}
	for place := range st.rules {
		if level, _ := st.rules.level(kind, place.id); place.kind == kind && level == NoAccess {
			return true
		}
	}
	return false
}

// seenBy says which lines of the log the reader may see, nil for all: not those of things
// that rules hide. Whose a thing is the log tells itself, by the line of its making.
func (q *ActivityQuery) seenBy(tx Tx, st *Standing) (func(*storedActivity) bool, error) {
	if q.Allowed || st.Project == nil || !st.Ruled() {
		return nil, nil
	}
	made, err := EveryRecord(tx, Query{Kind: KindActivity, Parent: st.Parent(), Match: func(r *Record) bool {
		a, err := Decode[storedActivity](r)
		return err == nil && a.Activity.Activity == "created" && a.By == st.User.ID && st.hides(ruledScopes[a.Scope])
	}}, func(*storedActivity) bool { return true })
	own := map[string]bool{}
	for i := range made {
		own[activityOf("", made[i].Scope, made[i].ItemID)] = true
	}
	return func(a *storedActivity) bool {
		kind := ruledScopes[a.Scope]
		if kind == "" || own[activityOf("", a.Scope, a.ItemID)] {
			return true
		}
		return st.Sees(Thing{Kind: kind, ID: a.ItemID})
	}, err
}

// trim leaves out of a line what it tells of other things of which some are hidden.
func (st *Standing) trim(a *Activity) {
	a.Detail.Changes = slices.DeleteFunc(a.Detail.Changes, func(c Change) bool { return st.hides(mentions[c.Field]) })
}
