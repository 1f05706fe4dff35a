package insights

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// This file finds the members of a query that nothing reads: a misspelt one is refused,
// since a question without its filter has another answer; others are named.

// unknownKey is the code of a member that is misspelt.
const unknownKey = "unknown_key"

// maxUnread is how many members that nothing reads are named.
const maxUnread = 10

// looks notes which members of which objects of a query were looked for.
type looks struct {
	objects []*look
	of      map[uintptr]*look // by the object
}

type look struct {
	place string
	value map[string]any
	names map[string]bool
}

func newLooks() *looks { return &looks{of: map[uintptr]*look{}} }

// note says that a member of an object was looked for, whether it is there or not.
func (l *looks) note(object map[string]any, place, name string) {
	if l == nil || object == nil {
		return
	}
	at := reflect.ValueOf(object).Pointer()
	o := l.of[at]
	if o == nil {
		o = &look{place: place, value: object, names: map[string]bool{}}
		l.of[at], l.objects = o, append(l.objects, o)
	}
	o.names[name] = true
}

// ignored are the members that were not looked for, of objects of which others were.
func (l *looks) ignored(see func(o *look, name string)) {
	for _, o := range l.objects {
		for _, name := range slices.Sorted(maps.Keys(o.value)) {
			if !o.names[name] {
				see(o, name)
			}
		}
	}
}

// misspelt is the first fault of a member that was most likely meant to be one that was
// looked for and is not there; nil for none.
func (l *looks) misspelt() (fault *Error) {
	l.ignored(func(o *look, name string) {
		if fault != nil || knownMembers[name] || isAppearance(name) {
			return
		}
		var absent []string
		for wanted := range o.names {
			if _, there := o.value[wanted]; !there {
				absent = append(absent, wanted)
			}
		}
		if meant := flags.Nearest(name, absent); meant != "" {
			place := o.place + "__" + name
			fault = failure(unknownKey, place, "%s is not a member of a query's object, %q is most likely meant.", dotted(place), meant)
		}
	})
	return fault
}

// unread names the members that have no effect, but for those that only say how an answer
// is shown.
func (l *looks) unread() (all []string) {
	l.ignored(func(o *look, name string) {
		if isAppearance(name) || len(all) == maxUnread {
			return
		}
		place := dotted(o.place + "__" + name)
		if knownMembers[name] {
			all = append(all, place+" is not supported and has no effect")
		} else {
			all = append(all, place+" is not known and has no effect")
		}
	})
	return all
}

var listIndex = regexp.MustCompile(`__(\d+)`)

// dotted writes the place query__series__0__math as query.series[0].math.
func dotted(place string) string {
	return strings.ReplaceAll(listIndex.ReplaceAllString(place, "[$1]"), "__", ".")
}

// appearances are members that say how an answer is shown, which is the business of who
// shows it: nothing is said of them. So are all whose names begin with the second list.
var (
	appearances = setOf(`allowSorting chartSettings cohort_name columns context contextKey custom_name dashboardDisplay
		dataColorTheme decimalPlaces display embedded expandable full goalLines group_key_names label layout
		minDecimalPlaces name pinnedColumns propertiesViaUrl response selectedInterval stacked
		suppressSessionAnalysisWarning tableSettings tags toggledLifecycles version vizSpecificOptions yAxisScaleType`)
	appearancePrefixes = []string{"aggregationAxis", "hidden", "hide", "resultCustomization", "show"}
)

func isAppearance(name string) bool {
	return appearances[name] || slices.ContainsFunc(appearancePrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// knownMembers are names that members of PostHog's queries have. One that nothing reads
// where it stands is not misspelt.
var knownMembers = setOf(`
	actionId after aggregationProperty aggregationPropertyType aggregationType aggregation_group_type_index before binCount
	bounceRateDurationSeconds bounceRatePageViewMode breakdown breakdownAttributionType breakdownAttributionValue
	breakdownFilter breakdownSorting breakdown_group_type_index breakdown_hide_other_aggregation
	breakdown_histogram_bin_count breakdown_limit breakdown_normalize_url breakdown_type breakdowns compare compareFilter
	compare_to computedAs confidenceLevel connectionId conversionGoal convertToProjectTimezone cumulative
	customAggregationTarget customChannelTypeRules dataWarehouseEventsModifiers dateRange date_from date_to day debug
	detailedResultsAggregationType distinct_id_field event events excludeBoxPlotOutliers exclusions explain explicitDate
	filterTestAccounts filters fixedProperties formatCsvAllowDoubleQuotes formula formulaNodes formulas
	funnelAggregateByHogQL funnelCustomSteps funnelFromStep funnelOrderType funnelStep funnelStepBreakdown
	funnelStepReference funnelToStep funnelTrendsDropOff funnelTrendsEntrancePeriodStart funnelVizType
	funnelWindowInterval funnelWindowIntervalUnit funnelsFilter group_type_index histogram_bin_count id id_field
	inCohortVia includeRecordings includeTimestamp interval intervalCount key kind lifecycleFilter limit
	materializationMode math math_group_type_index math_hogql math_multiplier math_property
	math_property_revenue_currency math_property_type meanRetentionCalculation minimumOccurrences modifiers
	movingAverageIntervals negation nodes normalize_url offset operator optimizeJoinedFilters optimizeProjections
	optionalInFunnel orderBy order period personId personsArgMaxVersion personsOnEventsMode properties property
	propertyGroupsMode query retentionCustomBrackets retentionFilter retentionReference retentionType returningEntity
	s3TableUseInvalidColumns samplingFactor search select sendRawQuery series sessionTableVersion sessionsV2JoinMode
	smoothingIntervals source status stickinessCriteria stickinessFilter table_name targetEntity timeWindowMode
	timestamp_field timings totalIntervals trendsFilter type useMaterializedViews usePresortedEventsTable useUdf
	useWebAnalyticsPreAggregatedTables uuid value values variables viz where`)

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

// UnknownMembers looks for members of a query that nothing reads: the error is the
// *[Error] of one that is misspelt, and the texts name others, at most 10. Whether the
// query can be answered does not matter.
func UnknownMembers(query []byte, p *Project) ([]string, error) {
	n, _ := decodeQuery(query, "query")
	if len(query) > maxQuery {
		return nil, nil
	}
	if _, object := n.value.(map[string]any); !object {
		return nil, nil
	}
	n = unwrap(n)
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == fmt.Sprint(n.get("kind").value) })
	if i < 0 {
		return nil, nil
	}
	kinds[i].parse(n, p)
	n.get("modifiers").object().get("personsOnEventsMode")
	if fault := n.looks.misspelt(); fault != nil {
		return nil, fault
	}
	return n.looks.unread(), nil
}
