package filter

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// readSteps returns the condition of an action's steps (§2.3): an event belongs to the action if at
// least one step matches it. An action without steps matches every event. names are the event names
// that the steps can match; nil means any name.
func readSteps(steps json.RawMessage, p *port.Project) (_ Condition, names []string) {
	fault := new(*port.Error)
	n := document.Node{Value: wire.Value(steps), Attr: "steps", Fault: fault}
	list := n.List(MaxFilters)
	if len(list) == 0 {
		return AllOf{}, nil
	}
	var some anyOf
	// every is true if some step accepts any event name; a scan cannot be restricted by name then.
	every := false
	for _, step := range list {
		name := step.Get("event").OptionalText()
		if name == nil {
			every = true
		} else {
			names = append(names, *name)
		}
		some = append(some, readStep(step, name, p))
	}
	if every {
		names = nil
	}
	if *fault != nil { // a step that cannot be read matches no event
		return anyOf{matchNothing{}}, names
	}
	return some, names
}

// matchNothing is a condition that is false for every event.
type matchNothing struct{}

func (matchNothing) Bind(*scan.Binder) func(*scan.Row) bool {
	return func(*scan.Row) bool { return false }
}

// readStep reads one step of an action. An event must satisfy all members of the step.
func readStep(step document.Node, name *string, p *port.Project) Condition {
	out := Read(step.Get("properties"), p)
	if name != nil {
		out = append(out, nameCondition(*name))
	}
	if url := step.Get("url").OptionalText(); url != nil && *url != "" {
		out = append(out, urlCondition(*url, step.Get("url_matching").Choice("contains", "contains", "exact", "regex"), step))
	}
	if name == nil || *name != "$autocapture" {
		return out
	}
	// Only autocaptured events have an elements chain, so the members about elements apply to them
	// alone.
	for _, key := range []string{"tag_name", "selector", "text", "href"} {
		value := step.Get(key).OptionalText()
		if value == nil || *value == "" {
			continue
		}
		operator := "exact"
		if key == "text" || key == "href" {
			operator = map[string]string{"exact": "exact", "contains": "icontains", "regex": "regex"}[step.Get(key+"_matching").Choice("exact", "exact", "contains", "regex")]
		}
		// The members have the meaning of element filters, so build a filter and parse it.
		filter := document.Node{Value: map[string]any{"key": key, "value": *value, "operator": operator}, Attr: step.Attr + "__" + key, Fault: step.Fault}
		out = append(out, elementFilter(filter, p))
	}
	return out
}

// nameCondition is true for events with that name.
type nameCondition string

// Bind requests the column of names for the comparison.
func (name nameCondition) Bind(b *scan.Binder) func(*scan.Row) bool {
	b.Needs.Columns |= port.Names
	return func(r *scan.Row) bool { return r.Batch.Name[r.Index] == string(name) }
}

// urlMatcher compares the property $current_url of events. Matching "contains" is case-sensitive.
type urlMatcher struct{ holds func(url string) bool }

// urlCondition returns the condition of a step's url for one of the values of url_matching:
// contains, exact or regex.
func urlCondition(url, matching string, step document.Node) Condition {
	switch matching {
	case "exact":
		return urlMatcher{func(s string) bool { return s == url }}
	case "regex":
		if p := readPattern(step.Get("url"), url); p != nil {
			return urlMatcher{p.MatchString}
		}
		return matchNothing{}
	}
	return urlMatcher{newLikeMatcher(url)}
}

// newLikeMatcher returns a function that reports whether a string contains part. As in SQL's LIKE,
// % matches any sequence of characters and _ one character (clients.md §5.3).
func newLikeMatcher(part string) func(string) bool {
	if !strings.ContainsAny(part, "%_") {
		return func(s string) bool { return strings.Contains(s, part) }
	}
	// QuoteMeta does not change % and _, which have no meaning in regular expressions.
	pattern := strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(part))
	return regexp.MustCompile("(?s)" + pattern).MatchString
}

// Bind returns a condition that is false for events without a URL.
func (u urlMatcher) Bind(b *scan.Binder) func(*scan.Row) bool {
	value := b.EventProperty("$current_url")
	return func(r *scan.Row) bool {
		text, ok := scan.Text(value(r))
		return ok && u.holds(text)
	}
}
