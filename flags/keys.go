package flags

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/tape"
)

// This file lists the members that definitions may have. Without a check a misspelt member
// would be ignored, and a condition without its rollout applies to everybody.

// shape describes one kind of object in a definition.
type shape struct {
	what    string // for messages: "a condition"
	members map[string]member
	// byName maps the number of a name to the member, nil if there is no such member.
	byName *[math.MaxUint8 + 1]*member
	// unknown, also indexed by number, is set for names that are not members and for obsolete
	// members.
	unknown [math.MaxUint8 + 1]bool
}

// member is a member that an object may have.
type member struct {
	// shape returns the shape of the member's object. If nil, the value is not checked. With
	// list it is the shape of each element, with each that of every member's value.
	shape      func(node) *shape
	list, each bool
	// inert members do not affect evaluation, and are no candidates for corrections of
	// misspelt names.
	inert bool
	// obsolete members had a meaning in the past. Null is accepted, other values are reported
	// as having no effect.
	obsolete bool
}

// shapeOf returns a function for members that always have the shape s.
func shapeOf(s *shape) func(node) *shape { return func(node) *shape { return s } }

// members returns a table of members without a shape, from two lists of names.
func members(live, inert string) map[string]member {
	out := map[string]member{}
	for _, name := range strings.Fields(live) {
		out[name] = member{}
	}
	for _, name := range strings.Fields(inert) {
		out[name] = member{inert: true}
	}
	return out
}

// addMembers adds members, usually with a shape, and returns s.
func (s *shape) addMembers(more map[string]member) *shape {
	for name, m := range more {
		s.members[name] = m
	}
	return s
}

// The tables: flag records (§1.1, §1.11), filters (§1.2), conditions and variants (§1.3),
// properties (§1.4), cohorts (§1.6, §5.6), the definitions payload (§1.8, decision 5) and the
// definitions file.
var (
	propertyShape = &shape{what: "a property", members: members(
		"key type operator value group_type_index negation dependency_chain", "label cohort_name group_key_names")}
	conditionShape = (&shape{what: "a condition", members: members(
		"variant rollout_percentage aggregation_group_type_index", "description sort_key exposure_frozen exposure_frozen_cohort users_affected")}).addMembers(
		map[string]member{"properties": {shape: shapeOf(propertyShape), list: true}})
	variantShape      = &shape{what: "a variant", members: members("key rollout_percentage", "name description")}
	multivariateShape = (&shape{what: "multivariate", members: nil}).setMembers(map[string]member{"variants": {shape: shapeOf(variantShape), list: true}})
	holdoutShape      = &shape{what: "a holdout", members: members("id exclusion_percentage", "")}
	filtersShape      = (&shape{what: "a flag's filters", members: members(
		"aggregation_group_type_index payloads feature_enrollment early_exit version super_groups holdout_groups", "return_type default_value rules")}).addMembers(
		map[string]member{
			"groups":       {shape: shapeOf(conditionShape), list: true},
			"multivariate": {shape: shapeOf(multivariateShape)},
			"holdout":      {shape: shapeOf(holdoutShape)},
		})
	pinShape  = &shape{what: "a pin", members: members("cohort group_type group_key value expires_at", "")}
	flagShape = (&shape{what: "a flag", members: members(
		`id key name active deleted archived ensure_experience_continuity x_ensure_experience_continuity bucketing_identifier
		bucketing_hash evaluation_runtime evaluation_contexts evaluation_tags evaluation_contexts_match_mode
		has_encrypted_payloads has_experiment is_remote_configuration tags analytics_dashboards rollback_conditions
		performed_rollback has_enriched_analytics creation_context version change_note`,
		`team_id created_at created_by updated_at last_modified_by last_called_at hidden usage_dashboard user_access_level
		experiment_set experiment_set_metadata surveys features can_edit status is_simple_flag original_flag
		is_used_in_replay_settings is_eligible_for_experiment _create_in_folder _should_create_usage_dashboard`)}).addMembers(
		map[string]member{
			"filters":            {shape: shapeOf(filtersShape)},
			"pins":               {shape: shapeOf(pinShape), list: true},
			"rollout_percentage": {inert: true, obsolete: true}, // of the flag itself: posthog-go still has it
		})
)

// The shapes of cohorts refer to one another; init sets their members.
var (
	treeShape        = &shape{what: "a group of a cohort"}
	legacyGroupShape = &shape{what: "an older group of a cohort", members: members(
		"event_id action_id days", "id label name count count_operator start_date end_date event_type time_value time_interval")}
	cohortFiltersShape = &shape{what: "a cohort's filters"}
	cohortShape        = &shape{what: "a cohort", members: members(
		"id name description deleted is_static members query cohort_type",
		`team_id count version pending_version is_calculating errors_calculating created_at created_by created_by_id
		last_calculation last_error_at last_error_message last_backfill_person_properties_at experiment_set
		is_used_in_replay_settings _create_in_folder _create_static_person_ids`)}
)

func init() {
	treeShape.setMembers(map[string]member{"type": {}, "values": {shape: treeOrLeaf, list: true}})
	legacyGroupShape.addMembers(map[string]member{"properties": {shape: legacyProperties, list: true}})
	cohortFiltersShape.setMembers(map[string]member{"properties": {shape: treeOrLeaf}})
	cohortShape.addMembers(map[string]member{
		"filters": {shape: shapeOf(cohortFiltersShape)},
		"groups":  {shape: shapeOf(legacyGroupShape), list: true},
	})
	numberNames()
}

// Shapes of documents: files and payloads.
var (
	keyShape          = &shape{what: "a personal key", members: members("key scopes", "")}
	organizationShape = &shape{what: "the organization", members: members("id name quotas", "")}
	projectShape      = (&shape{what: "a project", members: members(
		`id name api_key timezone bucketing_hash property_matching_version secret_api_keys group_type_mapping quota_limited
		minimal_flag_called_events static_cohorts static_cohort_members withheld_flags failed_cohorts empty_cohorts
		behavioral_cohorts revision faults`, "")}).addMembers(
		map[string]member{
			"personal_api_keys": {shape: shapeOf(keyShape), list: true},
			"flags":             {shape: shapeOf(flagShape), list: true},
			"cohorts":           {shape: cohortOrTree, each: true, list: true},
		})
	fileShape = (&shape{what: "a definitions file", members: nil}).setMembers(map[string]member{
		"organization":      {shape: shapeOf(organizationShape)},
		"projects":          {shape: shapeOf(projectShape), list: true},
		"personal_api_keys": {shape: shapeOf(keyShape), list: true},
	})
)

// setMembers replaces the table of members and returns s.
func (s *shape) setMembers(all map[string]member) *shape {
	s.members = all
	return s
}

// numberNames assigns a number to every name of a member and fills the indexes of the shapes
// by number.
func numberNames() {
	all := []*shape{
		propertyShape, conditionShape, variantShape, multivariateShape, holdoutShape, filtersShape, pinShape, flagShape, treeShape,
		legacyGroupShape, cohortFiltersShape, cohortShape, keyShape, organizationShape, projectShape, fileShape,
	}
	list := slices.Clone(nameTexts[1:])
	for _, s := range all {
		list = slices.AppendSeq(list, maps.Keys(s.members))
	}
	recordNames = tape.NewNames(list...)
	for _, s := range all {
		s.byName = new([math.MaxUint8 + 1]*member)
		for name, m := range s.members {
			s.byName[recordNames.Number(name)] = &m
		}
		for number, m := range s.byName {
			s.unknown[number] = m == nil || m.obsolete
		}
	}
}

// cohortOrTree returns the shape of a cohort in a payload, which is either a record or a bare
// tree.
func cohortOrTree(n node) *shape {
	if isTree(n) {
		return treeShape
	}
	return cohortShape
}

// treeOrLeaf returns the shape of a node of a cohort's tree. It is nil for leaves about
// events, which are not checked.
func treeOrLeaf(n node) *shape {
	if isTree(n) {
		return treeShape
	}
	kind := n.at(nType)
	if !kind.isText() {
		return propertyShape
	}
	switch PropertyType(kind.text()) {
	case "", PersonProperty, GroupProperty, CohortProperty, FlagProperty, PersonMetadata:
		return propertyShape
	}
	return nil
}

// legacyProperties returns the shape of the properties of an older cohort: a list of leaves
// or a tree. It is nil for a map of values by property.
func legacyProperties(n node) *shape {
	if n.kind() == tape.Object && n.at(nType).null() && n.at(nValues).null() && n.at(nKey).null() {
		return nil
	}
	return treeOrLeaf(n)
}

// isTree reports whether an object is an inner node of a cohort's tree: it has values, or its
// type is AND or OR although the values are absent.
func isTree(n node) bool {
	kind := n.at(nType)
	return n.has(nValues) || kind.isText() && (kind.text() == "AND" || kind.text() == "OR")
}
