package batchexports

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// maxExportFilters is the greatest number of filters of an export.
const maxExportFilters = 100

// exportFilters are the compiled property filters of an export, for the event and for its person.
// They must not be used concurrently.
type exportFilters struct{ event, person []propertyFilter }

// propertyFilter is a filter with the property that it compares.
type propertyFilter struct {
	key string
	*flags.Filter
}

// compileExportFilters reads the filters of an export, all of which must match. It returns an error
// for filters that cannot be evaluated for the model. settings are those of the project.
func compileExportFilters(raw json.RawMessage, model string, settings flags.FilterSettings) (*exportFilters, error) {
	out := &exportFilters{}
	if len(raw) == 0 || management.JSONKind(raw) == "NoneType" {
		return out, nil
	}
	var list []json.RawMessage
	if management.JSONKind(raw) != "list" || json.Unmarshal(raw, &list) != nil {
		return nil, management.Fault("filters", "'filters' should be an array of filters")
	}
	if len(list) > maxExportFilters {
		return nil, management.CodedFault(management.CodeMaxLength, "filters", "Ensure this field has no more than %d elements.", maxExportFilters)
	}
	for _, item := range list {
		var f map[string]json.RawMessage
		if management.JSONKind(item) != "dict" || json.Unmarshal(item, &f) != nil {
			return nil, management.Fault("filters", "Each filter must be an object")
		}
		kind, p, err := exportFilter(f)
		if err != nil {
			return nil, err
		}
		if model == modelSessions || model == modelPersons && kind != "person" {
			return nil, management.Fault("filters", "Filters of type %q cannot be evaluated for the model %s.", kind, model)
		}
		ofEvent := kind == "event"
		// Filters of the event may compare the elements of an autocaptured click.
		settings.Elements = ofEvent && flags.ComparesElements(p.Key)
		test, err := flags.NewFilter(p, settings)
		var fault *flags.DefinitionError
		switch {
		case errors.As(err, &fault):
			return nil, management.Fault("filters", "The filters cannot be evaluated: %s.", fault.Problem)
		case ofEvent:
			out.event = append(out.event, propertyFilter{p.Key, test})
		default:
			out.person = append(out.person, propertyFilter{p.Key, test})
		}
	}
	return out, nil
}

// exportFilter reads one filter. Its type is event by default.
func exportFilter(f map[string]json.RawMessage) (kind string, p flags.Property, err error) {
	kind = "event"
	if raw, there := f["type"]; there {
		if err := json.Unmarshal(raw, &kind); err != nil || kind != "event" && kind != "person" {
			return "", p, management.Fault("filters", "Filters of type %s cannot be evaluated: use event or person.", raw)
		}
	}
	if json.Unmarshal(f["key"], &p.Key) != nil || p.Key == "" {
		return "", p, management.Fault("filters", "Each filter must have a key.")
	}
	if raw, there := f["operator"]; there && management.JSONKind(raw) != "NoneType" {
		if err := json.Unmarshal(raw, &p.Operator); err != nil {
			return "", p, management.Fault("filters", "The operator of a filter must be a string.")
		}
	}
	if raw, there := f["value"]; there {
		p.Value, p.HasValue = wire.Value(raw), true
	}
	return kind, p, nil
}

// matches reports whether all filters match. event and person are the properties as JSON objects,
// and when is the time to which relative dates refer.
func (f *exportFilters) matches(event, person string, when time.Time) (bool, error) {
	for _, part := range []struct {
		filters []propertyFilter
		text    string
		holds   func(f propertyFilter, properties flags.Properties) bool
	}{
		{f.event, event, func(f propertyFilter, properties flags.Properties) bool {
			value, present := properties[f.key]
			return f.Holds(value, present, when)
		}},
		{f.person, person, func(f propertyFilter, properties flags.Properties) bool {
			return f.HoldsOfPerson(properties, f.key, when)
		}},
	} {
		// Properties are only parsed if a filter needs them.
		if len(part.filters) == 0 {
			continue
		}
		properties, err := flagProperties(part.text)
		if err != nil {
			return false, err
		}
		for _, filter := range part.filters {
			if !part.holds(filter, properties) {
				return false, nil
			}
		}
	}
	return true, nil
}

// flagProperties parses the properties of a JSON object in the way that flags do.
func flagProperties(text string) (flags.Properties, error) {
	if text == "" {
		return nil, nil
	}
	var p map[string]any
	err := wire.Decode([]byte(text), &p)
	return p, err
}
