package ofprovider

import (
	"fmt"
	"strconv"
	"time"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/flags"
)

// Members of the context with a meaning of their own, as in OFREP.
const (
	memberGroups          = "groups"
	memberGroupProperties = "group_properties"
	memberAnonymousID     = "$anon_distinct_id"
	memberGeoIPDisable    = "$geoip_disable"
)

// subject is whom an evaluation context is about. A nil member counts as absent.
func subject(members map[string]any) (sub flags.Subject, wrong *openfeature.ResolutionError) {
	fail := func(e openfeature.ResolutionError) (flags.Subject, *openfeature.ResolutionError) {
		return flags.Subject{}, &e
	}
	sub.Person = make(flags.Properties, len(members))
	for name, v := range members {
		var err error
		switch name {
		case openfeature.TargetingKey:
			sub.DistinctID, err = text(v)
		case memberGroups:
			sub.Groups, err = groups(v)
		case memberGroupProperties:
			sub.GroupProperties, err = groupProperties(v)
		case memberAnonymousID:
			sub.AnonymousID, err = text(v)
		case memberGeoIPDisable:
		default:
			sub.Person[name] = plain(v)
		}
		if err != nil {
			return fail(openfeature.NewInvalidContextResolutionError("the evaluation context cannot be used: " + name + ": " + err.Error()))
		}
	}
	if sub.DistinctID == "" {
		return fail(openfeature.NewTargetingKeyMissingResolutionError("the evaluation context has no targeting key: give a text that identifies whom the flags are for"))
	}
	return sub, nil
}

func text(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("want a string, not %T", v)
}

// groups reads group keys. What is no usable key counts as absent (§7).
func groups(v any) (map[string]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]string:
		return v, nil
	case map[string]any:
		out := make(map[string]string, len(v))
		for groupType, key := range v {
			switch key := key.(type) {
			case string:
				out[groupType] = key
			case int:
				out[groupType] = strconv.Itoa(key)
			case int64:
				out[groupType] = strconv.FormatInt(key, 10)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("want group keys by group type (map[string]any), not %T", v)
}

func groupProperties(v any) (map[string]flags.Properties, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]map[string]any:
		out := make(map[string]flags.Properties, len(v))
		for groupType, properties := range v {
			out[groupType] = plain(properties).(map[string]any)
		}
		return out, nil
	case map[string]any:
		out := make(map[string]flags.Properties, len(v))
		for groupType, properties := range v {
			m, ok := properties.(map[string]any)
			if !ok && properties != nil {
				return nil, fmt.Errorf("%s: want properties (map[string]any), not %T", groupType, properties)
			}
			out[groupType] = plain(m).(map[string]any)
		}
		return out, nil
	}
	return nil, fmt.Errorf("want properties by group type (map[string]any), not %T", v)
}

// plain is a value as flags knows it: OpenFeature has times besides JSON.
func plain(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[name] = plain(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = plain(inner)
		}
		return out
	}
	return v
}
