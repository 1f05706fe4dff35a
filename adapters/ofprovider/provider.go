package ofprovider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Client evaluates flags for a Provider. It may also have the methods
//
//	Track(ctx context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error
//	WaitForReady(ctx context.Context) error
//	Flush(ctx context.Context) error
//	Watch(notify func(stale bool, message string)) (stop func())
//	DecideAndExpose(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error)
//	Set() *flags.Set
//
// for tracking, for initialization, to send queued events at the shutdown, for events, for
// exposures, and to distinguish disabled flags from missing flags. *remote.Client has all of them.
type Client interface {
	// Decide evaluates one flag; found is false if there is no such flag.
	Decide(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error)
}

type (
	tracker interface {
		Track(ctx context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error
	}
	readier interface {
		WaitForReady(ctx context.Context) error
	}
	flusher interface {
		Flush(ctx context.Context) error
	}
	watcher interface {
		Watch(notify func(stale bool, message string)) (stop func())
	}
	exposer interface {
		DecideAndExpose(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error)
	}
	setter interface {
		Set() *flags.Set
	}
)

// Config configures a Provider. Only Client is required.
type Config struct {
	// Client evaluates flags. The caller remains responsible for closing it: Shutdown only flushes
	// it.
	Client Client
	// Track sends an event. If nil, it is the Client's Track; if the Client has no such method,
	// tracking has no effect.
	Track func(ctx context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error
	// Watch calls notify after each change of the flags, or of whether they are current, until stop
	// is called. message may be empty. If nil, it is the Client's Watch; if the Client has no such
	// method, changes are not reported.
	Watch func(notify func(stale bool, message string)) (stop func())
	// NoExposures disables exposures. If false, each evaluation with a Client that has
	// DecideAndExpose sends $feature_flag_called, once for each distinct id, flag, value and
	// groups.
	NoExposures bool
	// InitTimeout is the timeout of an initialization whose context has no deadline, by default 30
	// seconds.
	InitTimeout time.Duration
	// OnTrackError receives the errors of tracking. If nil, they are ignored.
	OnTrackError func(error)
}

// defaultInitTimeout is the default of Config.InitTimeout.
const defaultInitTimeout = 30 * time.Second

// name is the name of a Provider in OpenFeature.
const name = "Bunting"

// Provider is an OpenFeature provider. It is safe for concurrent use. A Provider without a Client,
// such as nil, returns the defaults with flags.ErrNotReady.
type Provider struct {
	c      Config
	decide func(ctx context.Context, key string, sub *flags.Subject) (flags.Decision, bool, error)
	events events
}

var (
	_ openfeature.FeatureProvider          = (*Provider)(nil)
	_ openfeature.ContextAwareStateHandler = (*Provider)(nil)
	_ openfeature.EventHandler             = (*Provider)(nil)
	_ openfeature.Tracker                  = (*Provider)(nil)
)

// New returns a Provider that uses a Decider, for the project with an API key. It evaluates flags
// for servers: flags that are only for clients are not found.
func New(d *serving.Decider, apiKey string) *Provider {
	l := &local{decider: d, apiKey: apiKey}
	p := NewRemote(Config{Client: l})
	l.changed = func() { p.events.handleChange(false, "the definitions have changed") }
	return p
}

// NewRemote returns a Provider that uses c.Client, which may be any implementation, for example for
// tests.
func NewRemote(c Config) *Provider {
	if t, ok := c.Client.(tracker); ok && c.Track == nil {
		c.Track = t.Track
	}
	if w, ok := c.Client.(watcher); ok && c.Watch == nil {
		c.Watch = w.Watch
	}
	if c.InitTimeout <= 0 {
		c.InitTimeout = defaultInitTimeout
	}
	p := &Provider{c: c, events: events{out: make(chan openfeature.Event, maxEvents)}}
	if e, ok := c.Client.(exposer); ok && !c.NoExposures {
		p.decide = e.DecideAndExpose
	} else if c.Client != nil {
		p.decide = c.Client.Decide
	} else {
		p.decide = func(context.Context, string, *flags.Subject) (d flags.Decision, found bool, err error) {
			return d, false, flags.ErrNotReady
		}
	}
	return p
}

// orEmpty returns the Provider, or one without a Client if p was not created by New or NewRemote.
func (p *Provider) orEmpty() *Provider {
	if p == nil || p.decide == nil {
		return NewRemote(Config{})
	}
	return p
}

// Metadata implements openfeature.FeatureProvider.
func (p *Provider) Metadata() openfeature.Metadata { return openfeature.Metadata{Name: name} }

// Hooks implements openfeature.FeatureProvider. It returns nil.
func (p *Provider) Hooks() []openfeature.Hook { return nil }

// EventChannel implements openfeature.EventHandler. It buffers 16 events and then drops the oldest.
func (p *Provider) EventChannel() <-chan openfeature.Event { return p.orEmpty().events.out }

// Init implements openfeature.StateHandler.
func (p *Provider) Init(ec openfeature.EvaluationContext) error {
	return p.InitWithContext(context.Background(), ec)
}

// InitWithContext waits until definitions are loaded. It returns a fatal error if no project has
// the API key.
func (p *Provider) InitWithContext(ctx context.Context, _ openfeature.EvaluationContext) error {
	p, ctx = p.orEmpty(), wire.Context(ctx)
	if p.c.Client == nil {
		return &openfeature.ProviderInitError{ErrorCode: openfeature.ProviderFatalCode, Message: "ofprovider: Config.Client is required"}
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.c.InitTimeout)
		defer cancel()
	}
	p.watch()
	r, ok := p.c.Client.(readier)
	if !ok {
		return nil
	}
	err := r.WaitForReady(ctx)
	if err != nil {
		p.events.broken.Store(true)
	}
	if errors.Is(err, flags.ErrUnknownKey) {
		return &openfeature.ProviderInitError{ErrorCode: openfeature.ProviderFatalCode, Message: err.Error()}
	}
	return err
}

// watch starts Config.Watch, and stops an earlier one.
func (p *Provider) watch() {
	if p.c.Watch == nil {
		return
	}
	if stop := p.c.Watch(p.events.handleChange); stop != nil {
		if old := p.events.stop.Swap(&stop); old != nil {
			(*old)()
		}
	}
}

// Shutdown implements openfeature.StateHandler.
func (p *Provider) Shutdown() {
	p = p.orEmpty()
	ctx, cancel := context.WithTimeout(context.Background(), p.c.InitTimeout)
	defer cancel()
	_ = p.ShutdownWithContext(ctx) // the interface has no result for the error
}

// ShutdownWithContext stops Watch and flushes the Client. The Provider may be initialized again.
func (p *Provider) ShutdownWithContext(ctx context.Context) error {
	p = p.orEmpty()
	if stop := p.events.stop.Swap(nil); stop != nil {
		(*stop)()
	}
	if f, ok := p.c.Client.(flusher); ok {
		return f.Flush(wire.Context(ctx))
	}
	return nil
}

// Track implements openfeature.Tracker: it sends an event for the person with the targeting key and
// the groups of the context, with the attributes of the details as properties, and their value as
// the property "value", unless details has neither a value (0) nor attributes. Other members of the
// context are not sent.
func (p *Provider) Track(ctx context.Context, event string, ec openfeature.EvaluationContext, details openfeature.TrackingEventDetails) {
	if p = p.orEmpty(); p.c.Track == nil {
		return
	}
	err := p.track(wire.Context(ctx), event, ec, details)
	if err != nil && p.c.OnTrackError != nil {
		p.c.OnTrackError(fmt.Errorf("ofprovider: the event %q is not sent: %w", event, err))
	}
}

// checkTargetingKey returns flags.ErrNoDistinctID for a context without a targeting key.
func checkTargetingKey(members map[string]any) error {
	if id, _ := members[openfeature.TargetingKey].(string); id == "" {
		return flags.ErrNoDistinctID
	}
	return nil
}

// track sends the event. It returns panics, for example of the context's values, as errors.
func (p *Provider) track(ctx context.Context, event string, ec openfeature.EvaluationContext, details openfeature.TrackingEventDetails) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	members := ec.Attributes()
	if members == nil {
		members = map[string]any{}
	}
	if ec.TargetingKey() != "" {
		members[openfeature.TargetingKey] = ec.TargetingKey()
	}
	sub, wrong := subject(members)
	if wrong != nil {
		return errors.Join(*wrong, checkTargetingKey(members))
	}
	properties := details.Attributes()
	if _, exists := properties["value"]; !exists && (details.Value() != 0 || len(properties) > 0) {
		properties["value"] = details.Value()
	}
	return p.c.Track(ctx, sub.DistinctID, event, properties, sub.Groups)
}
