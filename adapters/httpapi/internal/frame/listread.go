package frame

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
)

// maxListValues is the maximum number of values of one list parameter.
const maxListValues = 1000

// IsList reports whether the response of an endpoint is a list, so that its parameters are
// validated (spec/clients.md §2.1).
func (e *Endpoint) IsList() bool {
	if _, there := Lists[e.Path]; e.Method != http.MethodGet || there {
		return there && e.Method == http.MethodGet
	}
	if _, counted := e.Response.(interface{ Counted() (int, any) }); counted {
		return true
	}
	typ := reflect.TypeOf(e.Response)
	switch {
	case typ == nil || typ == reflect.TypeFor[json.RawMessage]():
		return false
	case typ.Kind() == reflect.Slice:
		return true
	case typ.Kind() == reflect.Struct:
		_, has := typ.FieldByName("Results")
		return has
	}
	return false
}

// ReadList validates the query parameters of a list. Parameters that PostHog has but this server
// does not support are an error. Unknown parameters are ignored with a warning in the response,
// because clients may add parameters for other purposes (§2.1).
func (e *Endpoint) ReadList(w http.ResponseWriter, q url.Values, now time.Time) (management.Values, error) {
	parameters := map[string]*ListParameter{}
	for i := range ListOf(e.Path) {
		p := &Lists[e.Path][i]
		parameters[p.Name] = p
	}
	for _, doc := range e.Query {
		parameters[doc.Name] = &ListParameter{Name: doc.Name, Kind: kindByEndpoint}
	}
	if format := q.Get("format"); format != "" && format != "json" {
		return nil, management.Fault("format", "'%s' is not a format of this list: use json.", problem.Shorten(format))
	}
	out := management.Values{}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		p := parameters[name]
		switch {
		case p == nil && !commonParameters[name]:
			Warn(w, "the parameter "+strconv.Quote(problem.Shorten(name))+" is unknown and was ignored")
		case p == nil:
		case p.Kind == KindUnsupported:
			return nil, management.Fault(name, "'%s' is not supported here yet.", name)
		default:
			value, err := p.read(w, q[name], now)
			if err != nil {
				return nil, err
			}
			if value != nil {
				out[name] = value
			}
		}
	}
	return out, nil
}

// read parses the values of a parameter. It returns nil if the parameter counts as absent.
func (p *ListParameter) read(w http.ResponseWriter, values []string, now time.Time) (any, error) {
	first := values[0]
	switch p.Kind {
	case kindByEndpoint, KindIgnored:
		return nil, nil
	case kindExact:
		return first, nil
	case KindPresent:
		if BoolParameter(url.Values{p.Name: values}, p.Name) {
			return true, nil
		}
		return nil, nil
	}
	if strings.Join(values, "") == "" {
		return nil, nil
	}
	switch p.Kind {
	case KindInt:
		return p.integer(first)
	case KindBool:
		return BoolParameter(url.Values{p.Name: values}, p.Name), nil
	case kindChoice:
		if !slices.Contains(p.Choices, first) {
			if p.strict {
				return nil, management.CodedFault("invalid_choice", p.Name, "%q is not a valid choice. Valid choices: %s.", problem.Shorten(first), strings.Join(p.Choices, ", "))
			}
			Warn(w, "the value "+strconv.Quote(problem.Shorten(first))+" of "+p.Name+" is not one of "+strings.Join(p.Choices, ", ")+" and was ignored")
			return nil, nil
		}
		return first, nil
	case KindTime:
		return p.Time(first, now)
	case kindJSON, kindRepeated, kindCommas:
		return p.texts(values)
	case kindJSONInts, kindInts:
		return p.integers(values)
	}
	return first, nil
}

func (p *ListParameter) integer(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, management.Fault(p.Name, "A valid integer is required.")
	}
	return n, nil
}

// split returns the single values of a parameter that may have several.
func (p *ListParameter) split(values []string) (out []string, err error) {
	for _, value := range values {
		value = strings.TrimSpace(value)
		isJSON := strings.HasPrefix(value, "[") && p.Kind != kindRepeated
		switch {
		case isJSON || p.Kind == kindJSON || p.Kind == kindJSONInts:
			var list []json.RawMessage
			if json.Unmarshal([]byte(value), &list) != nil {
				return nil, p.notAListError()
			}
			for _, item := range list {
				text := string(item)
				if json.Unmarshal(item, &text) != nil && !p.isNumeric() {
					return nil, p.notAListError()
				}
				out = append(out, text)
			}
		case p.Kind == kindRepeated:
			out = append(out, value)
		default:
			out = append(out, strings.Split(value, ",")...)
		}
	}
	if len(out) > maxListValues {
		return nil, management.CodedFault(management.CodeMaxLength, p.Name, "Ensure this field has no more than %d elements.", maxListValues)
	}
	return out, nil
}

func (p *ListParameter) isNumeric() bool { return p.Kind == kindInts || p.Kind == kindJSONInts }

func (p *ListParameter) notAListError() error {
	what := "texts"
	if p.isNumeric() {
		what = "whole numbers"
	}
	return management.Fault(p.Name, "Must be a JSON array of %s.", what)
}

// texts returns the values that are not empty. It returns nil, for an absent parameter, if there
// are no such values.
func (p *ListParameter) texts(values []string) (any, error) {
	list, err := p.split(values)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, text := range list {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

func (p *ListParameter) integers(values []string) (any, error) {
	list, err := p.split(values)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	out := make([]int64, len(list))
	for i, text := range list {
		if out[i], err = p.integer(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// relativeTime matches times relative to now, such as -7d.
var relativeTime = regexp.MustCompile(`^-([0-9]{1,4})([hdwmqy])$`)

// Time parses an absolute time, or one relative to now. Months, quarters and years are calendar
// units.
func (p *ListParameter) Time(text string, now time.Time) (any, error) {
	back := relativeTime.FindStringSubmatch(text)
	if back == nil {
		parsed, err := TimeParameter(url.Values{p.Name: {text}}, p.Name)
		return parsed, err
	}
	n, _ := strconv.Atoi(back[1]) // the pattern allows only four digits
	if back[2] == "h" {
		return now.Add(-time.Duration(n) * time.Hour), nil
	}
	unit := relativeUnits[back[2]]
	return management.AddMonths(now, -n*unit.months).AddDate(0, 0, -n*unit.days), nil
}

// relativeUnits are the units of relativeTime, except for hours.
var relativeUnits = map[string]struct{ months, days int }{"d": {days: 1}, "w": {days: 7}, "m": {months: 1}, "q": {months: 3}, "y": {months: 12}}
