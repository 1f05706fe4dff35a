package document

import (
	"slices"
	"strings"
)

// appearances are members that only affect how a result is displayed, or that clients use to
// identify objects. They are never reported. The same applies to all names that begin with a word
// of appearancePrefixes.
var (
	appearances = setOf(`
		allowSorting chartSettings cohort_name cohortLabelStartIndex columns context contextKey custom_name
		dashboardDisplay dataColorTheme decimal_places decimalPlaces defaultColumns display embedded expandable
		experiment_name fingerprint full goalLines group_key_names isSharedMetric label layout min_decimal_places
		minDecimalPlaces name pinnedColumns propertiesViaUrl response selectedInterval stacked
		suppressSessionAnalysisWarning tableSettings tags toggledLifecycles uuid variableId version
		vizSpecificOptions y_axis_scale_type yAxisScaleType`)
	appearancePrefixes = []string{"aggregationAxis", "aggregation_axis", "hidden", "hide", "resultCustomizationBy", "resultCustomizations", "sharedMetric", "show"}
)

// isAppearance reports whether a member only affects the display. After a prefix, a new word must
// begin: "showLegend" has the prefix "show", "shower" has not.
func isAppearance(name string) bool {
	return appearances[name] || slices.ContainsFunc(appearancePrefixes, func(word string) bool {
		rest, begins := strings.CutPrefix(name, word)
		return begins && strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz") == rest // no lower-case letter follows the prefix
	})
}

// postHogMembers are members of PostHog's queries. A member with such a name is not reported as
// misspelled, even if no parser reads it in its place.
var postHogMembers = setOf(`
	actionId activation_config after aggregation_group_type_index aggregationProperty aggregationPropertyType
	aggregationType alpha bayesian before binCount bounceRateDurationSeconds bounceRatePageViewMode breakdown
	breakdown_group_type_index breakdown_hide_other_aggregation breakdown_histogram_bin_count breakdown_limit
	breakdown_normalize_url breakdown_type breakdownAttributionType breakdownAttributionValue breakdownFilter breakdowns
	breakdownSorting ci_level compare compare_to compareFilter completion_event computedAs confidenceLevel connectionId
	conversion_window conversion_window_unit conversionGoal convertToProjectTimezone count_query cumulative cuped
	customAggregationTarget customChannelTypeRules data_warehouse_join_key dataWarehouseEventsModifiers date_from date_to
	dateRange day debug denominator denominator_outlier_handling detailedResultsAggregationType difference_type
	distinct_id_field enabled end_date event events events_join_key excludeBoxPlotOutliers exclusions experiment_id
	explain explicitDate exposure_config exposure_criteria exposure_query feature_flag filters filterTestAccounts
	fixedProperties formatCsvAllowDoubleQuotes formula formulaNodes formulas frequentist funnel_order_type
	funnelAggregateByHogQL funnelCustomSteps funnelFromStep funnelOrderType funnels_query funnelsFilter funnelStep
	funnelStepBreakdown funnelStepReference funnelToStep funnelTrendsDropOff funnelTrendsEntrancePeriodStart
	funnelVizType funnelWindowInterval funnelWindowIntervalUnit goal group_type_index histogram_bin_count holdout id
	id_field ignore_zeros includeRecordings includeTimestamp inCohortVia interval intervalCount key kind lifecycleFilter
	limit lookback_days lower_bound_percentile materializationMode math math_group_type_index math_hogql math_multiplier
	math_property math_property_revenue_currency math_property_type meanRetentionCalculation method metric metric_type
	minimumOccurrences modifiers movingAverageIntervals multiple_testing multiple_variant_handling negation nodes
	normalize_url numerator numerator_outlier_handling offset operator optimizeJoinedFilters optimizeProjections
	optionalInFunnel order orderBy period personId personsArgMaxVersion personsOnEventsMode properties property
	propertyGroupsMode query retention_window_end retention_window_start retention_window_unit retentionCustomBrackets
	retentionFilter retentionReference retentionType returningEntity s3TableUseInvalidColumns samplingFactor search
	select sendRawQuery sequential_testing_enabled sequential_tuning_parameter series sessionsV2JoinMode
	sessionTableVersion smoothingIntervals source start_date start_event start_handling status stickinessCriteria
	stickinessFilter table_name targetEntity threshold timeseries timestamp_field timeWindowMode timings totalIntervals
	trendsFilter type upper_bound_percentile useMaterializedViews usePresortedEventsTable useUdf
	useWebAnalyticsPreAggregatedTables value values variables viz where`)

// OlderMembers are the members of filters, the older form of insights.
var OlderMembers = setOf(`
	actions aggregation_group_type_index bin_count breakdown breakdown_attribution_type breakdown_attribution_value
	breakdown_group_type_index breakdown_hide_other_aggregation breakdown_histogram_bin_count breakdown_limit
	breakdown_normalize_url breakdown_type breakdown_value breakdowns client_query_id compare compare_to cumulative
	data_warehouse_entities date_from date_to distinct_id_field drop_off edge_limit end_point entities entity_id entity_math
	entity_type entrance_period_start event events exclude_events exclusions explicit_date filter_test_accounts formula
	from_dashboard funnel_advanced funnel_aggregate_by_hogql funnel_correlation_event_exclude_property_names
	funnel_correlation_event_names funnel_correlation_exclude_event_names funnel_correlation_exclude_names
	funnel_correlation_names funnel_correlation_person_converted funnel_correlation_person_entity funnel_correlation_type
	funnel_custom_steps funnel_filter funnel_from_step funnel_order_type funnel_path_after_step funnel_path_before_step
	funnel_path_between_steps funnel_paths funnel_step funnel_step_breakdown funnel_step_reference funnel_to_step
	funnel_viz_type funnel_window_days funnel_window_interval funnel_window_interval_unit group_type_index
	histogram_bin_count id id_field include_custom_events include_event_types insight interval key kind limit
	local_path_cleaning_filters math math_group_type_index math_hogql math_property math_property_revenue_currency
	math_property_type max_edge_weight mean_retention_calculation min_edge_weight negation new_entity normalize_url offset
	operator optionalInFunnel order path_dropoff_key path_end_key path_groupings path_replacements path_start_key path_type
	paths_hogql_expression people_action people_day period properties property property_groups refresh retention_reference
	retention_type returning_entity sampling_factor selected_interval session shown_as smoothing_intervals start_point
	step_limit stickiness_days table_name target_entity timestamp_field total_intervals type value values`)

// setOf returns the set of names, which are separated by white space.
func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}
