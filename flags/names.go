package flags

import "github.com/bunting-flags/bunting/flags/internal/tape"

// name is the number of a member's name. Members are compared by number while definitions are
// parsed.
type name uint8

// The names in flags, their filters and conditions are at the start, so that an object can
// index their members by number, see object.
const (
	_ name = iota
	nActive
	nAggregation
	nBucketingHash
	nBucketingIdentifier
	nContexts
	nContextsMode
	nContinuity
	nDeleted
	nDependencyChain
	nEarlyExit
	nEncrypted
	nEnrollment
	nExperiment
	nFilters
	nGroupIndex
	nGroups
	nHoldout
	nHoldoutGroups
	nID
	nKey
	nMultivariate
	nName
	nNegation
	nOperator
	nPayloads
	nPins
	nProperties
	nRemoteConfig
	nRollout
	nRuntime
	nSuperGroups
	nTags
	nType
	nValue
	nVariant
	nVariants
	nVersion
	nXContinuity

	hotNames
)

// All other names that are parsed.
const (
	nActionID = hotNames + iota
	nAPIKey
	nBehavioralCohorts
	nCode
	nCohort
	nCohorts
	nCohortType
	nDays
	nEmptyCohorts
	nEventID
	nExclusion
	nExpires
	nFailedCohorts
	nFlags
	nGroupKey
	nGroupType
	nGroupTypes
	nMatchingVersion
	nMembers
	nMinimalEvents
	nOrganization
	nPersonalKeys
	nProjects
	nQuotaLimited
	nQuotas
	nRevision
	nScopes
	nSecretKeys
	nStatic
	nStaticCohorts
	nStaticMembers
	nTimezone
	nValues
	nWithheld

	readNames
)

// nameTexts maps the numbers to the names.
var nameTexts = [readNames]string{
	nActionID: "action_id", nActive: "active", nAggregation: "aggregation_group_type_index", nAPIKey: "api_key",
	nBehavioralCohorts: "behavioral_cohorts", nBucketingHash: "bucketing_hash", nBucketingIdentifier: "bucketing_identifier",
	nCode: "code", nCohort: "cohort", nCohorts: "cohorts", nCohortType: "cohort_type", nContexts: "evaluation_contexts",
	nContextsMode: "evaluation_contexts_match_mode", nContinuity: "ensure_experience_continuity", nDays: "days",
	nDeleted: "deleted", nDependencyChain: "dependency_chain", nEarlyExit: "early_exit", nEmptyCohorts: "empty_cohorts",
	nEncrypted: "has_encrypted_payloads", nEnrollment: "feature_enrollment", nEventID: "event_id", nExpires: "expires_at", nExclusion: "exclusion_percentage",
	nExperiment: "has_experiment", nFailedCohorts: "failed_cohorts", nFilters: "filters", nFlags: "flags",
	nGroupIndex: "group_type_index", nGroupKey: "group_key", nGroupType: "group_type", nPins: "pins", nGroups: "groups", nGroupTypes: "group_type_mapping", nHoldout: "holdout",
	nHoldoutGroups: "holdout_groups", nID: "id", nKey: "key", nMatchingVersion: "property_matching_version", nMembers: "members",
	nMinimalEvents: "minimal_flag_called_events", nMultivariate: "multivariate", nName: "name", nNegation: "negation",
	nOperator: "operator", nOrganization: "organization", nPayloads: "payloads", nPersonalKeys: "personal_api_keys",
	nProjects: "projects", nProperties: "properties", nQuotaLimited: "quota_limited", nQuotas: "quotas",
	nRemoteConfig: "is_remote_configuration", nRevision: "revision", nRollout: "rollout_percentage", nRuntime: "evaluation_runtime",
	nScopes: "scopes", nSecretKeys: "secret_api_keys", nStatic: "is_static", nStaticCohorts: "static_cohorts",
	nStaticMembers: "static_cohort_members", nSuperGroups: "super_groups", nTags: "evaluation_tags", nTimezone: "timezone",
	nType: "type", nValue: "value", nValues: "values", nVariant: "variant", nVariants: "variants", nVersion: "version",
	nWithheld: "withheld_flags", nXContinuity: "x_ensure_experience_continuity",
}

func (n name) String() string { return recordNames.Text(uint8(n)) }

// recordNames numbers the names above, followed by all other names in the shapes of keys.go.
// init sets it.
var recordNames *tape.Names
