package trends

import (
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// Options returns the values by which the actors of a trend can be selected (§2.9.4): its series,
// buckets and breakdown values.
func (t *trends) Options(r *scan.Run) (map[string]any, error) {
	p, err := t.current(r)
	if err != nil {
		return nil, err
	}
	// Members that do not apply remain null.
	out := map[string]any{"breakdown": nil, "breakdowns": nil, "compare": nil}
	series := []scan.Option{}
	for i := range t.series {
		series = append(series, scan.Option{Label: t.series[i].Label(r), Value: i})
	}
	out["series"] = series
	if t.display != total {
		days := []scan.Option{}
		for i, label := range p.Labels(p.From, p.To) {
			days = append(days, scan.Option{Label: label, Value: p.Start(i).Format(time.RFC3339)})
		}
		out["day"] = days
	}
	if t.compare {
		out["compare"] = []scan.Option{{Label: "Current", Value: "current"}, {Label: "Previous", Value: "previous"}}
	}
	if t.breakdown == nil {
		return out, nil
	}
	return out, t.valueOptions(r, p, out)
}

// valueOptions adds the breakdown values of the result to out.
func (t *trends) valueOptions(r *scan.Run, p *scan.Period, out map[string]any) error {
	// The values are those of the result, so compute it.
	answer := &trendsAnswer{trends: t, run: r}
	if err := answer.add(p, ""); err != nil {
		return err
	}
	// There is one list of values for each part of the breakdown.
	lists := make([][]scan.Option, max(1, len(t.breakdown.Parts)))
	for _, rows := range answer.periods[0].series {
		for _, row := range rows {
			for i, text := range row.value.Texts {
				o := scan.Option{Label: text, Value: text}
				switch {
				case t.breakdown.ByCohort:
					o = scan.Option{Label: answer.valueLabel(row.value), Value: answer.displayValue(row.value)}
				case text == breakdown.NullValue:
					o.Label = "None (i.e. no value)"
				case text == breakdown.OtherValue:
					o.Label = "Other (i.e. all remaining values)"
				}
				if !slices.Contains(lists[i], o) {
					lists[i] = append(lists[i], o)
				}
			}
		}
	}
	if !t.breakdown.Several {
		out["breakdown"] = lists[0]
		return nil
	}
	several := []map[string]any{}
	for _, list := range lists {
		several = append(several, map[string]any{"values": list})
	}
	out["breakdowns"] = several
	return nil
}
