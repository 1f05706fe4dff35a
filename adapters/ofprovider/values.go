package ofprovider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// errNoValue means that the flag has no value, so that the default is returned.
var errNoValue = errors.New("no value")

// BooleanEvaluation implements openfeature.FeatureProvider.
func (p *Provider) BooleanEvaluation(ctx context.Context, flag string, defaultValue bool, flat openfeature.FlattenedContext) openfeature.BoolResolutionDetail {
	return resolve(ctx, p, flag, defaultValue, flat, boolean)
}

// StringEvaluation implements openfeature.FeatureProvider.
func (p *Provider) StringEvaluation(ctx context.Context, flag string, defaultValue string, flat openfeature.FlattenedContext) openfeature.StringResolutionDetail {
	return resolve(ctx, p, flag, defaultValue, flat, variant)
}

// FloatEvaluation implements openfeature.FeatureProvider.
func (p *Provider) FloatEvaluation(ctx context.Context, flag string, defaultValue float64, flat openfeature.FlattenedContext) openfeature.FloatResolutionDetail {
	return resolve(ctx, p, flag, defaultValue, flat, float)
}

// IntEvaluation implements openfeature.FeatureProvider.
func (p *Provider) IntEvaluation(ctx context.Context, flag string, defaultValue int64, flat openfeature.FlattenedContext) openfeature.IntResolutionDetail {
	return resolve(ctx, p, flag, defaultValue, flat, integer)
}

// ObjectEvaluation implements openfeature.FeatureProvider.
func (p *Provider) ObjectEvaluation(ctx context.Context, flag string, defaultValue any, flat openfeature.FlattenedContext) openfeature.InterfaceResolutionDetail {
	return resolve(ctx, p, flag, defaultValue, flat, object)
}

// resolve evaluates a flag and reads its value with a function that may return errNoValue, or
// another error for a value of another type.
func resolve[T any](ctx context.Context, p *Provider, flag string, defaultValue T, flat openfeature.FlattenedContext, read func(*flags.Decision) (T, error)) (out openfeature.GenericResolutionDetail[T]) {
	p, ctx = p.orEmpty(), wire.Context(ctx)
	fail := func(e openfeature.ResolutionError, m openfeature.FlagMetadata) openfeature.GenericResolutionDetail[T] {
		return openfeature.GenericResolutionDetail[T]{Value: defaultValue, ProviderResolutionDetail: openfeature.ProviderResolutionDetail{
			ResolutionError: e, Reason: openfeature.ErrorReason, FlagMetadata: m,
		}}
	}
	defer func() { // a context may have values of any type, and their methods may panic
		if v := recover(); v != nil {
			out = fail(openfeature.NewGeneralResolutionError(fmt.Sprintf("panic: %v", v)), nil)
		}
	}()
	sub, wrong := subject(flat)
	if wrong != nil {
		return fail(*wrong, nil)
	}
	d, found, err := p.decide(ctx, flag, &sub)
	if s, ok := p.c.Client.(setter); ok && !found && err == nil {
		d, found = s.Set().AbsentDecision(flag, &flags.Selection{Runtime: "all"})
	}
	switch {
	case err != nil:
		if errors.Is(err, flags.ErrUnavailable) {
			p.events.recordFailure(err)
		}
		return fail(openfeature.NewGeneralResolutionError(err.Error(), err), nil)
	case !found:
		p.events.recordSuccess()
		return fail(openfeature.NewFlagNotFoundResolutionError("there is no flag "+strconv.Quote(flag)), nil)
	}
	p.events.recordSuccess()
	reason, code := d.OpenFeature()
	metadata := metadataOf(&d)
	if code != "" {
		return fail(failure(&d, code), metadata)
	}
	out = openfeature.GenericResolutionDetail[T]{Value: defaultValue, ProviderResolutionDetail: openfeature.ProviderResolutionDetail{
		Reason: openfeature.Reason(reason), Variant: d.Variant, FlagMetadata: metadata,
	}}
	if d.Reason.Code == flags.FlagDisabled {
		return out
	}
	value, err := read(&d)
	switch {
	case errors.Is(err, errNoValue):
	case err != nil:
		return fail(openfeature.NewTypeMismatchResolutionError("the flag "+strconv.Quote(flag)+" "+err.Error()), metadata)
	default:
		out.Value = value
	}
	return out
}

// failure returns the error of a decision that failed or is undecided.
func failure(d *flags.Decision, code string) openfeature.ResolutionError {
	message := d.Reason.Description()
	if d.Undecided != nil {
		message = d.Undecided.Error()
	}
	switch code {
	case string(openfeature.ParseErrorCode):
		return openfeature.NewParseErrorResolutionError(message)
	case string(openfeature.InvalidContextCode):
		return openfeature.NewInvalidContextResolutionError(message)
	case string(openfeature.TargetingKeyMissingCode):
		return openfeature.NewTargetingKeyMissingResolutionError(message)
	}
	return openfeature.NewGeneralResolutionError(message)
}

// metadataOf returns the metadata of a decision.
func metadataOf(d *flags.Decision) openfeature.FlagMetadata {
	m := openfeature.FlagMetadata{"id": d.ID, "version": d.Version}
	if code := d.Reason.Code.String(); code != "" {
		m["reason_code"] = code
	}
	if d.Reason.Condition >= 0 {
		m["condition_index"] = int64(d.Reason.Condition)
	}
	if u := d.Undecided; u != nil {
		m["undecided_fact"], m["undecided_name"] = u.Fact, u.Name
		if u.Problem != "" { // the value has no JSON form
			m["undecided_problem"] = u.Problem
		}
	}
	if len(d.Payload) == 0 {
		return m
	}
	var v any
	if json.Unmarshal(d.Payload, &v) != nil {
		return m
	}
	switch v := v.(type) {
	case nil:
	case bool, string, float64:
		m["payload"] = v
	default:
		m["payload"] = string(d.Payload)
	}
	return m
}

// boolean returns the value for BooleanEvaluation.
func boolean(d *flags.Decision) (bool, error) {
	if d.Kind != flags.ConfigKind {
		return d.Enabled, nil
	}
	raw, err := payload(d)
	if err != nil {
		return false, err
	}
	var v bool
	if json.Unmarshal(raw, &v) != nil {
		return false, errors.New("has a payload that is not true or false")
	}
	return v, nil
}

// variant returns the value for StringEvaluation.
func variant(d *flags.Decision) (string, error) {
	switch d.Kind {
	case flags.VariantKind:
		if d.Variant == "" {
			return "", errNoValue
		}
		return d.Variant, nil
	case flags.ConfigKind:
		raw, err := payload(d)
		if err != nil {
			return "", err
		}
		var s string
		if json.Unmarshal(raw, &s) != nil && json.Unmarshal(d.Payload, &s) != nil {
			return "", errors.New("has a payload that is not a text")
		}
		return s, nil
	}
	if !d.Enabled {
		return "", errNoValue
	}
	return "", errors.New("is on and has no variants: its value is a boolean")
}

func float(d *flags.Decision) (float64, error) {
	raw, err := payload(d)
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !json.Valid(raw) {
		return 0, errors.New("has a payload that is not a number")
	}
	return f, nil
}

func integer(d *flags.Decision) (int64, error) {
	raw, err := payload(d)
	if err != nil {
		return 0, err
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && json.Valid(raw) {
		return n, nil
	}
	f, err := float(d)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, errors.New("has a payload that is not a whole number")
	}
	return int64(f), nil
}

func object(d *flags.Decision) (any, error) {
	raw, err := payload(d)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err == nil {
		switch v.(type) {
		case map[string]any, []any:
			return v, nil
		}
	}
	return nil, errors.New("has a payload that is not an object or a list")
}

// payload returns the payload of a flag, or errNoValue if the flag is off.
func payload(d *flags.Decision) (json.RawMessage, error) {
	if !d.Enabled {
		return nil, errNoValue
	}
	raw := d.PayloadJSON()
	if len(raw) == 0 || string(raw) == "null" {
		if d.Kind == flags.ConfigKind {
			return nil, errNoValue
		}
		return nil, errors.New("has no payload")
	}
	return raw, nil
}
