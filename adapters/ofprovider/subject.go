package ofprovider

import (
	"cmp"
	"encoding/json"
	"fmt"

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

// subject converts an evaluation context to a subject. A nil member counts as missing.
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
			sub.Person[name] = v // flags supports values of any Go type
		}
		if err != nil {
			return fail(openfeature.NewInvalidContextResolutionError("the evaluation context cannot be used: " + name + ": " + err.Error()))
		}
	}
	if sub.DistinctID == "" {
		return fail(openfeature.NewTargetingKeyMissingResolutionError(flags.ErrNoDistinctID.Error() + ": give the evaluation context a targeting key, a text that identifies whom the flags are for"))
	}
	return sub, nil
}

// text returns a value that is a string in JSON, and "" for nil.
func text(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	tree, err := decode(v)
	if err != nil || tree == nil {
		return "", err
	}
	if s, ok := tree.(string); ok {
		return s, nil
	}
	return "", fmt.Errorf("must be a string, not %T", v)
}

// decode converts a value of any Go type as encoding/json would encode it.
func decode(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return flags.DecodeJSON(raw)
}

// groups reads group keys. Keys that are neither strings nor numbers count as missing (§7).
func groups(v any) (map[string]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]string:
		return v, nil
	}
	tree, err := decode(v)
	keys, ok := tree.(map[string]any)
	if err != nil || !ok && tree != nil {
		return nil, cmp.Or(err, fmt.Errorf("must be group keys by group type (map[string]any), not %T", v))
	}
	out := make(map[string]string, len(keys))
	for groupType, key := range keys {
		switch key := key.(type) {
		case string:
			out[groupType] = key
		case json.Number:
			out[groupType] = string(key)
		}
	}
	return out, nil
}

func groupProperties(v any) (map[string]flags.Properties, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]map[string]any:
		return v, nil
	case map[string]any:
		out := make(map[string]flags.Properties, len(v))
		for groupType, properties := range v {
			m, err := propertiesOf(properties)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", groupType, err)
			}
			out[groupType] = m
		}
		return out, nil
	}
	tree, err := decode(v)
	if all, ok := tree.(map[string]any); err == nil && (ok || tree == nil) {
		return groupProperties(all)
	}
	return nil, cmp.Or(err, fmt.Errorf("must be properties by group type (map[string]any), not %T", v))
}

func propertiesOf(v any) (flags.Properties, error) {
	if m, ok := v.(map[string]any); ok || v == nil {
		return m, nil
	}
	tree, err := decode(v)
	m, ok := tree.(map[string]any)
	if err != nil || !ok && tree != nil {
		return nil, cmp.Or(err, fmt.Errorf("must be properties (map[string]any), not %T", v))
	}
	return m, nil
}
