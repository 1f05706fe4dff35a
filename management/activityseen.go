package management

import "slices"

// kindsByScope maps Activity.Scope to the kind in access rules, for kinds that rules can hide.
var kindsByScope = map[string]string{
	"Action": "action", "Cohort": "cohort", "Dashboard": "dashboard", "Experiment": "experiment", "ExperimentHoldout": "experiment", "ExperimentSavedMetric": "experiment", "FeatureFlag": "feature_flag",
	"Insight": "insight", "Survey": "survey",
}

// referenceKinds maps fields that display other objects to the kind of those objects.
var referenceKinds = map[string]string{
	"feature_flag": "feature_flag", "feature_flag_key": "feature_flag", "feature_flag_keys": "feature_flag",
	"linked_flag": "feature_flag", "targeting_flag": "feature_flag", "internal_targeting_flag": "feature_flag",
	"insight": "insight", "insight_name": "insight", "insight_short_id": "insight", "insight_derived_name": "insight",
	"dashboard_name": "dashboard", "surveys": "survey", "links": "survey",
}

// hasHidden reports whether rules hide any objects of a kind from the caller. It does not consider
// that the caller may have created them.
func (scope *Scope) hasHidden(kind string) bool {
	if !scope.IsRestricted() {
		return false
	}
	for target := range scope.rules {
		if level, _ := scope.rules.level(kind, target.id); target.kind == kind && level == NoAccess {
			return true
		}
	}
	return false
}

// lineFilter returns a function that reports whether the reader may see a line, or nil if all lines
// are visible. Lines about objects that rules hide are not visible, except those of objects that
// the reader created, which the log itself shows by their lines "created".
func (q *ActivityQuery) lineFilter(tx Tx, scope *Scope) (func(*storedActivity) bool, error) {
	if q.AccessChecked || scope.Project == nil || !scope.IsRestricted() {
		return nil, nil
	}
	created, err := EveryRecord(tx, Query{Kind: KindActivity, Parent: scope.Parent(), Match: func(r *Record) bool {
		a, err := Decode[storedActivity](r)
		return err == nil && a.Activity.Activity == "created" && a.UserID == scope.User.ID && scope.hasHidden(kindsByScope[a.Scope])
	}}, func(*storedActivity) bool { return true })
	own := map[string]bool{}
	for i := range created {
		own[activityKey("", created[i].Scope, created[i].ItemID)] = true
	}
	return func(a *storedActivity) bool {
		kind := kindsByScope[a.Scope]
		if kind == "" || own[activityKey("", a.Scope, a.ItemID)] {
			return true
		}
		return scope.CanSee(AccessObject{Kind: kind, ID: a.ItemID})
	}, err
}

// trim removes changes of fields that display objects of a kind of which some are hidden.
func (scope *Scope) trim(a *Activity) {
	a.Detail.Changes = slices.DeleteFunc(a.Detail.Changes, func(c Change) bool { return scope.hasHidden(referenceKinds[c.Field]) })
}
