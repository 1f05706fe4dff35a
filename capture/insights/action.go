package insights

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// readSteps makes a condition of an action's steps (§2.3), one of which must hold.
// Without steps every event is meant. names are those that its events may have, nil
// for any.
func readSteps(steps json.RawMessage, p *Project) (_ condition, names []string) {
	fault := new(*Error)
	n := node{value: wire.Value(steps), attr: "steps", fault: fault}
	list := n.list(maxFilters)
	if len(list) == 0 {
		return allOf{}, nil
	}
	var some anyOf
	every := false
	for _, step := range list {
		name := step.get("event").optionalText()
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
	if *fault != nil { // a step that cannot be read matches nothing
		return anyOf{matchNothing{}}, names
	}
	return some, names
}

type matchNothing struct{}

func (matchNothing) bind(*binder) func(*row) bool { return func(*row) bool { return false } }

// readStep is one step: all of its members must hold.
func readStep(step node, name *string, p *Project) condition {
	out := step.get("properties").filters(p)
	if name != nil {
		out = append(out, nameCondition(*name))
	}
	if url := step.get("url").optionalText(); url != nil && *url != "" {
		out = append(out, urlCondition(*url, step.get("url_matching").choice("contains", "contains", "exact", "regex"), step))
	}
	if name == nil || *name != "$autocapture" {
		return out
	}
	for _, key := range []string{"tag_name", "selector", "text", "href"} {
		value := step.get(key).optionalText()
		if value == nil || *value == "" {
			continue
		}
		operator := "exact"
		if key == "text" || key == "href" {
			operator = map[string]string{"exact": "exact", "contains": "icontains", "regex": "regex"}[step.get(key+"_matching").choice("exact", "exact", "contains", "regex")]
		}
		filter := node{value: map[string]any{"key": key, "value": *value, "operator": operator}, attr: step.attr + "__" + key, fault: step.fault}
		out = append(out, elementFilter(filter, p))
	}
	return out
}

type nameCondition string

func (name nameCondition) bind(b *binder) func(*row) bool {
	b.needs.columns |= Names
	return func(r *row) bool { return r.b.Name[r.i] == string(name) }
}

// urlMatcher compares $current_url; contains heeds case.
type urlMatcher struct{ holds func(url string) bool }

func urlCondition(url, matching string, step node) condition {
	switch matching {
	case "exact":
		return urlMatcher{func(s string) bool { return s == url }}
	case "regex":
		if p := step.get("url").pattern(url); p != nil {
			return urlMatcher{p.MatchString}
		}
		return matchNothing{}
	}
	return urlMatcher{newLikeMatcher(url)}
}

// newLikeMatcher says whether a text holds a part in which % stands for anything and _ for one
// character, as in SQL (clients.md §5.3).
func newLikeMatcher(part string) func(string) bool {
	if !strings.ContainsAny(part, "%_") {
		return func(s string) bool { return strings.Contains(s, part) }
	}
	pattern := strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(part))
	return regexp.MustCompile("(?s)" + pattern).MatchString
}

func (u urlMatcher) bind(b *binder) func(*row) bool {
	value := b.eventProperty("$current_url")
	return func(r *row) bool {
		text, ok := textOf(value(r))
		return ok && u.holds(text)
	}
}
