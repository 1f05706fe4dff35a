package experiments_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The project has captured buy and see, the other project nothing.
func TestExperiments_UnknownEvents(t *testing.T) {
	const mean, never = `{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"buy"}}`, `{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"leave"}}`
	const of = "experiments.md §3.6 events never seen"
	rejected := func(field, index, event string) string {
		return `400 invalid_input ` + field + ` Invalid metric at index ` + index + `: the project has never captured the event "` + event + `".`
	}
	made := func(name, members string) string {
		return `{"name":"` + name + `","feature_flag_key":"` + name + `",` + members + `}`
	}
	w := ruletest.New(t, memstore.New(memstore.ExternalData{Events: map[int64][]string{ruletest.Project: {"buy", "see"}}}))
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{of, "bob", "experiment", made("A", `"metrics":[`+mean+`]`), `{"metrics":[{"source":{"event":"buy"}}]}`},
		{of, "bob", "experiment", made("B", `"metrics":[`+mean+`,`+never+`]`), rejected("metrics", "1", "leave")},
		{of, "bob", "experiment", made("B", `"metrics_secondary":[`+never+`]`), rejected("metrics_secondary", "0", "leave")},
		{of, "bob", "experiment", made("B", `"metrics":[`+never+`],"allow_unknown_events":false`), rejected("metrics", "0", "leave")},
		{of, "bob", "experiment", made("B", `"metrics":[{"kind":"ExperimentMetric","metric_type":"funnel","series":[{"kind":"EventsNode","event":"see"},{"kind":"EventsNode","event":"pay"}]}]`), rejected("metrics", "0", "pay")},
		{of, "bob", "experiment", made("B", `"metrics":[{"kind":"ExperimentMetric","metric_type":"ratio","numerator":{"kind":"EventsNode","event":"buy"},"denominator":{"kind":"EventsNode","event":"come"}}]`), rejected("metrics", "0", "come")},
		{of, "bob", "experiment", made("B", `"metrics":[{"kind":"ExperimentMetric","metric_type":"retention","start_event":{"kind":"EventsNode","event":"see"},"completion_event":{"kind":"EventsNode","event":"return"}}]`), rejected("metrics", "0", "return")},
		{of + ": any event, and actions", "bob", "experiment", made("C", `"metrics":[{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":null}},{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"ActionsNode","id":1}}]`), `{"name":"C"}`},
		{of + ", allowed; not stored", "bob", "experiment", made("D", `"metrics":[`+never+`],"allow_unknown_events":true`), `{"metrics":[{"source":{"event":"leave"}}],"allow_unknown_events":"(absent)"}`},
		{of + ": what is stored stays", "bob", "changeexperiment <D>", `{"metrics":[` + never + `,` + mean + `]}`, `{"metrics":[{"source":{"event":"leave"}},{"source":{"event":"buy"}}]}`},
		{of + ": other changes", "bob", "changeexperiment <D>", `{"name":"D2"}`, `{"name":"D2"}`},
		{of + " at a change", "bob", "changeexperiment <A>", `{"metrics":[` + never + `]}`, rejected("metrics", "0", "leave")},
		{of + ": a copy", "bob", "copyexperiment <A>", `{}`, `{"metrics":[{"source":{"event":"buy"}}]}`},
		{of + ": a project without events", "dan", "experiment", made("theirs", `"metrics":[`+never+`]`), `{"name":"theirs"}`},
	})
}
