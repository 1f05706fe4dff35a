package ofprovider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Client is what a Provider stands on. It may also have
//
//	Track(ctx context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error
//	WaitForReady(ctx context.Context) error
//	Flush(ctx context.Context) error
//	Watch(tell func(stale bool, message string)) (stop func())
//	DecideAndExpose(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error)
//	Set() *flags.Set
//
// for tracking, for initialization, for what waits to be sent at the shutdown, for
// events, for exposures, and to tell flags that are disabled from those that do not
// exist. *remote.Client has them all.
type Client interface {
	// Decide decides one flag; found is false where there is no such flag.
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

// Config says what a Provider stands on. Only Client is required.
type Config struct {
	// Client decides. It stays its maker's: Shutdown flushes it and does not close it.
	Client Client
	// Track sends an event. Nil: the Client's Track, if it has one; else tracking does
	// nothing.
	Track func(ctx context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error
	// Watch calls tell after each change of the flags, or of whether they are current,
	// until stop is called. message may be empty. Nil: the Client's Watch, if it has
	// one; else nobody is told.
	Watch func(notify func(stale bool, message string)) (stop func())
	// NoExposures sends no exposures. False: each evaluation of a Client that has
	// DecideAndExpose sends $feature_flag_called, once for each distinct id, flag, value
	// and groups.
	NoExposures bool
	// InitTimeout bounds an initialization whose context has no deadline,
	// 30 seconds when zero.
	InitTimeout time.Duration
	// OnTrackError is told why an event could not be taken over. Nil: nobody is told.
	OnTrackError func(error)
}

// defaultInitTimeout is Config.InitTimeout where that is zero.
const defaultInitTimeout = 30 * time.Second

// Name is the provider's name in OpenFeature.
const Name = "Bunting"

// Provider is an OpenFeature provider. It is safe for any number of goroutines. One
// without a Client, nil too, gives the defaults, with flags.ErrNotReady.
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

// New makes a Provider over a Decider, for the project with an API key. It asks as a
// server does: flags that are for clients only are not found.
func New(d *flags.Decider, apiKey string) *Provider {
	l := &local{decider: d, apiKey: apiKey}
	p := NewRemote(Config{Client: l})
	l.changed = func() { p.events.changed(false, "the definitions have changed") }
	return p
}

// NewRemote makes a Provider over a client, which for tests and other sources of
// decisions may be any.
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

// orEmpty is the Provider, or one without a Client for one that nobody has made.
func (p *Provider) orEmpty() *Provider {
	if p == nil || p.decide == nil {
		return NewRemote(Config{})
	}
	return p
}

// Metadata implements openfeature.FeatureProvider.
func (p *Provider) Metadata() openfeature.Metadata { return openfeature.Metadata{Name: Name} }

// Hooks implements openfeature.FeatureProvider: there are none.
func (p *Provider) Hooks() []openfeature.Hook { return nil }

// EventChannel implements openfeature.EventHandler. Of more than 16 events that
// nobody reads the oldest are dropped.
func (p *Provider) EventChannel() <-chan openfeature.Event { return p.orEmpty().events.out }

// Init implements openfeature.StateHandler.
func (p *Provider) Init(ec openfeature.EvaluationContext) error {
	return p.InitWithContext(context.Background(), ec)
}

// InitWithContext waits until there are definitions. A key that no project has is
// fatal.
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

func (p *Provider) watch() {
	if p.c.Watch == nil {
		return
	}
	if stop := p.c.Watch(p.events.changed); stop != nil {
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
	_ = p.ShutdownWithContext(ctx) // there is nobody to tell
}

// ShutdownWithContext ends what Watch began and flushes the Client. The Provider may
// be initialized again.
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

// Track implements openfeature.Tracker: the event goes to capture, for the person of
// the targeting key and the groups of the context, with the attributes of the details
// as properties, and the value as the property value. Details without a value (0 and
// no attributes) have none. Other members of the context are not sent.
func (p *Provider) Track(ctx context.Context, event string, ec openfeature.EvaluationContext, details openfeature.TrackingEventDetails) {
	if p = p.orEmpty(); p.c.Track == nil {
		return
	}
	err := p.track(wire.Context(ctx), event, ec, details)
	if err != nil && p.c.OnTrackError != nil {
		p.c.OnTrackError(fmt.Errorf("ofprovider: the event %q is not sent: %w", event, err))
	}
}

// missing is flags.ErrNoDistinctID for a context without a targeting key.
func missing(members map[string]any) error {
	if id, _ := members[openfeature.TargetingKey].(string); id == "" {
		return flags.ErrNoDistinctID
	}
	return nil
}

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
		return errors.Join(*wrong, missing(members))
	}
	properties := details.Attributes()
	if _, exists := properties["value"]; !exists && (details.Value() != 0 || len(properties) > 0) {
		properties["value"] = details.Value()
	}
	return p.c.Track(ctx, sub.DistinctID, event, properties, sub.Groups)
}
