package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cucumber/godog"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"

	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/flags"
)

// world is the state of one scenario.
type world struct {
	set *flags.Set

	api           *openfeature.EvaluationAPI
	client        *openfeature.Client
	release       chan struct{} // unblocks a provider that is not ready
	flag, typ     string
	fallback      any
	context       members
	frozenContext openfeature.EvaluationContext // copy from before the evaluation
	options       []openfeature.Option
	got           outcome
	details       openfeature.EvaluationDetails
	later         chan struct{}
	hooks         []*hook
	order         []string // of the hooks that ran, in order
	levels        []string
	entries       map[string]members // by level
	subjectPerson flags.Properties   // of the subject for which the provider decided
}

func newWorld(t *testing.T) *world {
	text, err := os.ReadFile("testdata/openfeature/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	return &world{set: flags.Compile(parsed(t, string(text))), release: make(chan struct{}), context: members{}, entries: map[string]members{}}
}

// Decide and Set implement ofprovider.Client with the scenario's flags.
func (w *world) Decide(_ context.Context, key string, sub *flags.Subject) (flags.Decision, bool, error) {
	w.subjectPerson = sub.Person
	var out flags.Decisions
	d, found := w.set.EvaluateFlag(key, sub, time.Now(), &out)
	return d, found, nil
}

func (w *world) Set() *flags.Set { return w.set }

// unreadyProvider is the client of a provider that is not stable.
type unreadyProvider struct {
	*world
	err error
}

// WaitForReady waits for the end of the scenario if there is no error.
func (u unreadyProvider) WaitForReady(context.Context) error {
	if u.err == nil {
		<-u.release
	}
	return u.err
}

func (w *world) close() error {
	close(w.release)
	if w.api == nil {
		return nil
	}
	return w.api.Shutdown(context.Background())
}

// provider sets a provider in a state, with Bunting's implementation of that state.
func (w *world) provider(state string) error {
	if w.api != nil { // the one of the background
		if err := w.api.Shutdown(context.Background()); err != nil {
			return err
		}
	}
	w.api = isolated.NewAPI()
	w.api.SetEvaluationContext(openfeature.NewEvaluationContext("somebody", nil))
	c := ofprovider.Config{Client: w}
	switch state {
	case "not ready":
		c.Client = unreadyProvider{w, nil}
	case "error":
		c.Client = unreadyProvider{w, errors.New("no definitions")}
	case "fatal":
		c.Client = unreadyProvider{w, flags.ErrUnknownKey}
	}
	var tell func(bool, string)
	c.Watch = func(f func(bool, string)) func() { tell = f; return func() {} }
	p := ofprovider.NewRemote(c)
	set := w.api.SetProviderAndWait
	if state == "not ready" {
		set = w.api.SetProvider
	}
	err := set(context.Background(), p)
	if failed := state == "error" || state == "fatal"; failed != (err != nil) {
		return fmt.Errorf("the initialization: %v", err)
	}
	if state == "stale" {
		tell(true, "no news")
	}
	w.client = w.api.NewClient()
	return nil
}

// status waits for the state, since events arrive in other goroutines.
func (w *world) status(want string) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if string(w.client.State()) == want {
			return nil
		}
	}
	return fmt.Errorf("the state is %s, want %s", w.client.State(), want)
}

// typedValue parses a value of the features; an escaped quotation mark is unescaped.
func typedValue(kind, text string) (any, error) {
	switch strings.ToLower(kind) {
	case "boolean":
		return strconv.ParseBool(text)
	case "integer":
		return strconv.ParseInt(text, 10, 64)
	case "float":
		return strconv.ParseFloat(text, 64)
	case "object":
		var v any
		err := json.Unmarshal([]byte(strings.ReplaceAll(text, `\"`, `"`)), &v)
		return v, err
	}
	return text, nil
}

func (w *world) ask(kind, key, fallback string) (err error) {
	w.typ, w.flag = kind, key
	w.fallback, err = typedValue(kind, fallback)
	return err
}

func (w *world) entry(key, kind, text string) (err error) {
	w.context[key], err = typedValue(kind, text)
	return err
}

func (w *world) evaluate() error {
	ctx, ec := context.Background(), openfeature.NewTargetlessEvaluationContext(w.context)
	w.frozenContext = openfeature.NewTargetlessEvaluationContext(w.context)
	switch v := w.fallback.(type) {
	case bool:
		d, _ := w.client.BooleanValueDetails(ctx, w.flag, v, ec, w.options...)
		w.got.Value, w.details = d.Value, d.EvaluationDetails
	case string:
		d, _ := w.client.StringValueDetails(ctx, w.flag, v, ec, w.options...)
		w.got.Value, w.details = d.Value, d.EvaluationDetails
	case int64:
		d, _ := w.client.IntValueDetails(ctx, w.flag, v, ec, w.options...)
		w.got.Value, w.details = d.Value, d.EvaluationDetails
	case float64:
		d, _ := w.client.FloatValueDetails(ctx, w.flag, v, ec, w.options...)
		w.got.Value, w.details = d.Value, d.EvaluationDetails
	default:
		d, _ := w.client.ObjectValueDetails(ctx, w.flag, v, ec, w.options...)
		w.got.Value, w.details = d.Value, d.EvaluationDetails
	}
	if !reflect.DeepEqual(ec, w.frozenContext) {
		return errors.New("the evaluation context is changed")
	}
	return nil
}

func checkEqual(what string, got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the %s is %#v, want %#v", what, got, want)
	}
	return nil
}

func (w *world) value(text string) error {
	want, err := typedValue(w.typ, text)
	if err != nil {
		return err
	}
	return checkEqual("resolved details value", w.got.Value, want)
}

// metadata compares a table of key, type and value with the details.
func (w *world) metadata(table *godog.Table) error {
	for _, row := range table.Rows[1:] {
		key := row.Cells[0].Value
		want, err := typedValue(row.Cells[1].Value, row.Cells[2].Value)
		if err != nil {
			return err
		}
		if err := checkEqual("metadata "+key, w.details.FlagMetadata[key], want); err != nil {
			return err
		}
	}
	return nil
}

// unchangeable checks that changing the metadata of details does not affect other evaluations.
func (w *world) unchangeable() error {
	before := maps.Clone(w.details.FlagMetadata)
	w.details.FlagMetadata["id"] = "changed"
	if err := w.evaluate(); err != nil {
		return err
	}
	return checkEqual("metadata", w.details.FlagMetadata, before)
}

func (w *world) evaluateLater() error {
	w.later = make(chan struct{})
	go func() { defer close(w.later); _ = w.evaluate() }()
	return nil
}

func (w *world) completes() error {
	select {
	case <-w.later:
		return nil
	case <-time.After(time.Minute):
		return errors.New("the evaluation does not come back")
	}
}

// hook records its stages, and may add an entry to the context.
type hook struct {
	openfeature.UnimplementedHook
	w       *world
	name    string
	stages  map[string]openfeature.InterfaceEvaluationDetails
	context members
}

func (w *world) newHook(name string) *hook {
	h := &hook{w: w, name: name, stages: map[string]openfeature.InterfaceEvaluationDetails{}}
	w.hooks = append(w.hooks, h)
	return h
}

func (h *hook) Before(context.Context, openfeature.HookContext, openfeature.HookHints) (*openfeature.EvaluationContext, error) {
	h.stages["before"] = openfeature.InterfaceEvaluationDetails{}
	h.w.order = append(h.w.order, h.name)
	if h.context == nil {
		return nil, nil
	}
	ec := openfeature.NewTargetlessEvaluationContext(h.context)
	return &ec, nil
}

func (h *hook) After(_ context.Context, _ openfeature.HookContext, d openfeature.InterfaceEvaluationDetails, _ openfeature.HookHints) error {
	h.stages["after"] = d
	return nil
}

func (h *hook) Error(context.Context, openfeature.HookContext, error, openfeature.HookHints) {
	h.stages["error"] = openfeature.InterfaceEvaluationDetails{}
}

func (h *hook) Finally(_ context.Context, _ openfeature.HookContext, d openfeature.InterfaceEvaluationDetails, _ openfeature.HookHints) {
	h.stages["finally"] = d
}

func (w *world) ran(stage string) error {
	for _, h := range w.hooks {
		if _, ok := h.stages[stage]; !ok {
			return fmt.Errorf("%s: the %s stage did not run", h.name, stage)
		}
	}
	return nil
}

func (w *world) ranWith(stages string, table *godog.Table) error {
	for _, stage := range strings.Split(stages, ", ") {
		if err := w.ran(stage); err != nil {
			return err
		}
		d := w.hooks[0].stages[stage]
		got := map[string]any{"flag_key": d.FlagKey, "value": d.Value, "variant": d.Variant, "reason": string(d.Reason), "error_code": string(d.ErrorCode)}
		for _, row := range table.Rows[1:] {
			kind, key, text := row.Cells[0].Value, row.Cells[1].Value, row.Cells[2].Value
			if text == "null" {
				text = ""
			}
			want, err := typedValue(kind, text)
			if err != nil {
				return err
			}
			if err := checkEqual(stage+" stage's "+key, got[key], want); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) hookOptions() error {
	w.options = []openfeature.Option{openfeature.WithHooks(w.newHook("first"), w.newHook("second"))}
	return nil
}

func (w *world) addAt(key, value, level string) error {
	if w.entries[level] == nil {
		w.entries[level] = members{}
	}
	w.entries[level][key] = value
	return nil
}

func (w *world) fill(last, key, value string) error {
	for _, level := range w.levels {
		text := level
		if level == last {
			text = value
		}
		if err := w.addAt(key, text, level); err != nil || level == last {
			return err
		}
	}
	return fmt.Errorf("there is no level %q", last)
}

// evaluateMerged evaluates a flag with the entries of each level.
func (w *world) evaluateMerged() error {
	w.api.SetEvaluationContext(openfeature.NewEvaluationContext("somebody", w.entries["API"]))
	w.client.SetEvaluationContext(openfeature.NewTargetlessEvaluationContext(w.entries["Client"]))
	h := w.newHook("merging")
	h.context = w.entries["Before Hooks"]
	w.client.AddHooks(h)
	ctx := openfeature.WithTransactionContext(context.Background(), openfeature.NewTargetlessEvaluationContext(w.entries["Transaction"]))
	_, err := w.client.BooleanValue(ctx, "boolean-flag", false, openfeature.NewTargetlessEvaluationContext(w.entries["Invocation"]))
	return err
}

func (w *world) steps(sc *godog.ScenarioContext) {
	for expression, step := range map[string]any{
		`^a stable provider with retrievable context is registered$`: func() error { return w.provider("stable") },
		`^an? (not ready|error|fatal|stable|stale) provider$`:        w.provider,
		`^the provider status should be "([A-Z_]+)"$`:                w.status,

		`^an? (\w+)-flag with key "([^"]*)" and a fallback value "(.*)"$`:             w.ask,
		`^a context containing a key "(.*)", with type "(.*)" and with value "(.*)"$`: w.entry,
		`^a context containing a key "(.*)" with null value$`:                         func(key string) { w.context[key] = nil },
		`^an evaluation context with modifiable data$`:                                func() { w.context["list"] = []any{"a", members{"b": "c"}} },
		`^the flag was evaluated with details(?: using the evaluation options)?$`:     w.evaluate,
		`^the flag was evaluated with details asynchronously$`:                        w.evaluateLater,
		`^the evaluation should complete without blocking$`:                           w.completes,
		`^the original evaluation context should remain unmodified$`:                  func() error { return checkEqual("list", w.context["list"], []any{"a", members{"b": "c"}}) },
		`^the resolved details value should be "(.*)"$`:                               w.value,
		`^the reason should be "(.*)"$`:                                               func(want string) error { return checkEqual("reason", string(w.details.Reason), want) },
		`^the variant should be "(.*)"$`:                                              func(want string) error { return checkEqual("variant", w.details.Variant, want) },
		`^the flag key should be "(.*)"$`:                                             func(want string) error { return checkEqual("flag key", w.details.FlagKey, want) },
		`^the error-code should be "(.*)"$`:                                           func(want string) error { return checkEqual("error code", string(w.details.ErrorCode), want) },
		`^the resolved metadata should contain$`:                                      w.metadata,
		`^the resolved metadata is empty$`:                                            func() error { return checkEqual("metadata", w.details.FlagMetadata, openfeature.FlagMetadata{}) },
		`^the evaluation details should be immutable$`:                                w.unchangeable,

		`^a client with added hook$`:                                                      func() { w.client.AddHooks(w.newHook("added")) },
		`^evaluation options containing specific hooks$`:                                  w.hookOptions,
		`^the specified hooks should execute during evaluation$`:                          func() error { return errors.Join(w.ran("before"), w.ran("after"), w.ran("finally")) },
		`^the hook order should be maintained$`:                                           func() error { return checkEqual("order", w.order, []string{"first", "second"}) },
		`^the "(\w+)" hook should have been executed$`:                                    w.ran,
		`^the "([^"]*)" hooks should be called with evaluation details$`:                  w.ranWith,
		`^A context entry with key "(.*)" and value "(.*)" is added to the "(.*)" level$`: w.addAt,
		`^A table with levels of increasing precedence$`: func(table *godog.Table) {
			for _, row := range table.Rows {
				w.levels = append(w.levels, row.Cells[0].Value)
			}
		},
		`^Context entries for each level from API level down to the "(.*)" level, with key "(.*)" and value "(.*)"$`: w.fill,
		`^Some flag was evaluated$`: w.evaluateMerged,
		`^The merged context contains an entry with key "(.*)" and value "(.*)"$`: func(key, want string) error { return checkEqual("entry "+key, w.subjectPerson[key], any(want)) },
	} {
		sc.Step(expression, step)
	}
}
