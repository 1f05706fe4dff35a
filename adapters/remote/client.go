package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// ClientConfig is the part of Config that a Client alone looks at. The zero value
// decides in this process, asks the server nothing, and sends exposures.
type ClientConfig struct {
	// Full says that subjects come with everything that is stored about them:
	// properties, static cohorts, identifiers of experience continuity. Then what is
	// missing is missing, and every flag is decided. False: a property that a subject
	// does not have is unknown, and a flag whose answer could change with it is not
	// decided (decision 2). A subject that says Partial is partial in any case.
	Full bool
	// AskServer asks the server (POST /flags?v=2) for flags that cannot be decided
	// here and for those that the definitions do not have. False: never.
	AskServer bool
	// AskTimeout bounds one such question, DefaultAskTimeout when zero.
	AskTimeout time.Duration

	// NoExposures sends no $feature_flag_called.
	NoExposures bool
	// ExposureMemory is how many exposures are remembered, so that each is sent once,
	// DefaultExposureMemory when zero. The one seen longest ago is forgotten first.
	ExposureMemory int

	// QueueEvents and QueueBytes bound what waits to be sent, DefaultQueueEvents and
	// DefaultQueueBytes when zero. What comes when the queue is full is dropped.
	QueueEvents, QueueBytes int
	// FlushInterval is how long an event waits for others, DefaultFlushInterval when
	// zero. A hundred events go at once.
	FlushInterval time.Duration
	// RetryWait is the first wait before a batch is sent again, DefaultRetryWait when
	// zero. It doubles up to 30 seconds. A Retry-After is waited for, up to 5 minutes.
	RetryWait time.Duration
	// MaxRetries is how often a batch is sent again before it is dropped,
	// DefaultMaxRetries when zero, without end when negative.
	MaxRetries int

	// Hooks are called around each decision of one flag, in this order.
	Hooks []Hook
}

// Defaults of ClientConfig. DefaultMaxRetries are about eight minutes.
const (
	DefaultAskTimeout     = 3 * time.Second
	DefaultExposureMemory = 1 << 16
	DefaultQueueEvents    = 10_000
	DefaultQueueBytes     = 32 << 20
	DefaultFlushInterval  = 5 * time.Second
	DefaultRetryWait      = 500 * time.Millisecond
	DefaultMaxRetries     = 20
)

var (
	errNotReady = fmt.Errorf("remote: %w: wait for them with WaitForReady, or bring them along in Config.Bundle", flags.ErrNotReady)
	errClosed   = fmt.Errorf("remote: %w", flags.ErrClosed)
)

// Client decides a project's flags in this process. It is safe for any number of
// goroutines; deciding takes no lock.
//
// Its typed reads send an exposure ($feature_flag_called), once for each distinct id,
// flag, value and groups. After Close they give the fallback and flags.ErrClosed.
type Client struct {
	*Source
	flags.Reader
	set       func() *flags.Set
	config    Config
	http      *http.Client
	log       *slog.Logger
	scratches sync.Pool
	exposures *exposures
	queue     *queue
	sender    *sender
	closing   sync.Once
	ended     atomic.Bool
	closed    error
}

// New opens a Source and a Client on it. Close ends both.
func New(c Config) (*Client, error) {
	s, err := Open(c)
	if err != nil {
		return nil, err
	}
	client, err := newClient(c, s.Set, s.client)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	client.Source = s
	return client, nil
}

// newClient makes a Client on the flags that set gives, and starts its sender.
func newClient(config Config, set func() *flags.Set, requests *http.Client) (*Client, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	config.fill()
	c := &Client{set: set, config: config, http: requests, log: config.Logger}
	c.Reader = flags.NewReader(c.read)
	c.scratches.New = func() any { return new(scratch) }
	var err error
	if c.exposures, err = newExposures(config.ExposureMemory); err != nil {
		return nil, err
	}
	c.queue = newQueue(config.QueueEvents, config.QueueBytes)
	c.sender = startSender(c)
	return c, nil
}

// fill puts the defaults in.
func (c *ClientConfig) fill() {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.AskTimeout, DefaultAskTimeout}, {&c.FlushInterval, DefaultFlushInterval}, {&c.RetryWait, DefaultRetryWait},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	for _, d := range []struct {
		field *int
		value int
	}{
		{&c.ExposureMemory, DefaultExposureMemory}, {&c.QueueEvents, DefaultQueueEvents}, {&c.QueueBytes, DefaultQueueBytes},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.MaxRetries == 0 {
		c.MaxRetries = DefaultMaxRetries
	}
}

// Flush sends what waits, and returns when each event that was there has been sent
// or dropped. The error says how many were dropped, or with the context's how many
// still wait; they stay in the queue.
func (c *Client) Flush(ctx context.Context) error { return c.sender.flush(ctx) }

// Close sends what waits until the context ends, then ends all goroutines of the
// Client and its Source. What is left is dropped, and the error says how many
// events that are; of a batch on its way it is not known whether it arrived.
// Give it a deadline: a server that is away is waited for.
func (c *Client) Close(ctx context.Context) error {
	c.closing.Do(func() {
		c.ended.Store(true)
		c.queue.close()
		err := c.sender.flush(ctx)
		c.sender.end()
		if n := c.sender.left; n > 0 {
			err = fmt.Errorf("remote: closed with %d events that are not sent: %w", n, context.Cause(ctx))
		}
		if c.Source != nil {
			err = errors.Join(err, c.Source.Close())
		}
		c.closed = err
	})
	return c.closed
}

// Stats are counts since New.
func (c *Client) Stats() Stats {
	s := c.queue.stats()
	s.Retries = c.sender.retries.Load()
	return s
}
