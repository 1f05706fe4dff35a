package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Config says whose flags are decided, and how. URL, ProjectKey and Key are required,
// unless it is Offline. It prints with its Key masked and without its Bundle, by package
// fmt, as JSON and in logs; fmt cannot ask it in an unexported field of another struct.
type Config struct {
	// URL is the server's, such as https://flags.example.com. It may have a path
	// in front of /flags/definitions.
	URL string
	// ProjectKey is the project's public key, phc_….
	ProjectKey string
	// Key opens the definitions: a project's secret key, phs_…, or a personal key,
	// phx_…, with the scope feature_flag:read.
	Key string

	// Offline uses no network at all: flags are those of the copy, else of Bundle, and do
	// not change. The server is not asked (AskServer), and AskAll fails. There are no
	// exposures; what Track is given is dropped without an error, and counted (DropOffline).
	Offline bool

	// Dir is the folder of the copy of the last good definitions; its name is made of
	// URL and ProjectKey. Processes may share it: the last who writes wins. Empty:
	// bunting in the user's cache folder (os.UserCacheDir). A folder that cannot be
	// used is told to Logger once, and the Client goes on without a copy.
	Dir string
	// NoCopy keeps no copy on disk.
	NoCopy bool
	// Bundle are definitions that the program brings along (go:embed): a payload of
	// /flags/definitions or a definitions file of one project. It is used only where
	// there is no copy that can be: a copy wins, even over a newer bundle. One that
	// cannot be read is an error of New in any case. Nil: none.
	Bundle []byte `json:"-"`

	// Full says that subjects come with everything that is stored about them:
	// properties, static cohorts, identifiers of experience continuity. Then what is
	// missing is missing, and every flag is decided. False: a property that a subject
	// does not have is unknown, and a flag whose answer could change with it is not
	// decided (decision 2). A subject that says Partial is partial in any case.
	Full bool
	// AskServer asks the server (POST /flags?v=2) for flags that cannot be decided
	// here and for those that the definitions do not have. False: never.
	AskServer bool
	// AskTimeout bounds one such question with all its repetitions, 3 seconds when zero.
	AskTimeout time.Duration
	// AskRetries is how often a question is repeated that ends in 502, 503 or 504 or whose
	// connection is lost, 2 when zero, never when negative. The first wait is up to a tenth
	// of a second, each further one twice as long, and none shorter than a Retry-After; one
	// that would outlast AskTimeout ends the question.
	AskRetries int
	// GeoIP has the server locate the address that requests come from, which is that of
	// this machine, for the flags that it is asked for and for events. False: it is told
	// not to (geoip_disable).
	GeoIP bool

	// Poll is how often changes are asked for where there is no stream, 30 seconds
	// when zero; each wait is up to a tenth shorter or longer.
	Poll time.Duration
	// NoStream asks for changes by polling alone.
	NoStream bool
	// Timeout bounds one request, 10 seconds when zero. Of a stream it bounds the
	// time until it begins.
	Timeout time.Duration

	// NoExposures sends no $feature_flag_called.
	NoExposures bool
	// ExposureMemory is how many exposures are remembered, so that each is sent once,
	// 65,536 when zero. The one seen longest ago is forgotten first.
	ExposureMemory int

	// QueueEvents and QueueBytes bound what waits to be sent, 10,000 and 32 MiB when
	// zero. What comes when the queue is full is dropped.
	QueueEvents, QueueBytes int
	// FlushInterval is how long an event waits for others, 5 seconds when
	// zero. A hundred events go at once.
	FlushInterval time.Duration
	// RetryWait is the first wait before a batch is sent again, half a second when
	// zero. It doubles up to 30 seconds. A Retry-After is waited for, up to 5 minutes.
	RetryWait time.Duration
	// MaxRetries is how often a batch is sent again before it is dropped,
	// 20 (about eight minutes) when zero, without end when negative.
	MaxRetries int
	// ShutdownTimeout bounds how long Close sends what waits, as does its context. Zero:
	// 10 seconds where that has no deadline.
	ShutdownTimeout time.Duration

	// Hooks are called around each typed read, and around the first read of each flag of a
	// snapshot: see flags.WithHooks. One that panics is logged, and the read goes on.
	Hooks []flags.Hook `json:"-"`
	// HTTPClient makes requests, one with the defaults of net/http when nil. Its
	// Timeout must be zero: streams are long.
	HTTPClient *http.Client `json:"-"`
	// Logger is told what an operator may want to know. Nil: nobody is told.
	Logger *slog.Logger `json:"-"`
	// Now is the clock of Status, time.Now when nil. Nothing waits by it: it may be
	// set back.
	Now func() time.Time `json:"-"`

	knobs *knobs // nil outside tests
}

// Defaults of Config.
const (
	defaultPoll            = 30 * time.Second
	defaultTimeout         = 10 * time.Second
	defaultAskTimeout      = 3 * time.Second
	defaultAskRetries      = 2
	defaultExposureMemory  = 1 << 16
	defaultQueueEvents     = 10_000
	defaultQueueBytes      = 32 << 20
	defaultFlushInterval   = 5 * time.Second
	defaultRetryWait       = 500 * time.Millisecond
	defaultMaxRetries      = 20
	defaultShutdownTimeout = 10 * time.Second
)

// complete checks a Config and fills in defaults.
func (c *Config) complete() error {
	if !c.Offline {
		if err := c.checkServer(); err != nil {
			return err
		}
	}
	if c.HTTPClient != nil && c.HTTPClient.Timeout != 0 {
		return errors.New("remote: Config.HTTPClient has a Timeout, which would cut streams: use Config.Timeout")
	}
	c.URL = strings.TrimRight(c.URL, "/")
	c.AskServer, c.NoExposures = c.AskServer && !c.Offline, c.NoExposures || c.Offline
	if err := c.fill(); err != nil {
		return err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.knobs == nil {
		c.knobs = realKnobs()
	}
	return nil
}

// checkServer checks what is needed to ask a server.
func (c *Config) checkServer() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil: // which repeats the whole text, a password too
		var inURL *url.Error
		if errors.As(err, &inURL) {
			err = inURL.Err
		}
		return fmt.Errorf("remote: Config.URL cannot be read: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("remote: Config.URL is %q, want one such as https://flags.example.com", redactURL(c.URL))
	case strings.ContainsAny(c.URL, "?#") || u.User != nil:
		return errors.New("remote: Config.URL has a query, a fragment or a user: leave them out")
	case c.ProjectKey == "":
		return errors.New("remote: Config.ProjectKey is empty, want the project's public key, phc_…")
	case c.Key == "":
		return errors.New("remote: Config.Key is empty, want a project's secret key, phs_…, or a personal key, phx_…")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("remote: Config.Key has a character that no key has, such as the end of a line")
	}
	return nil
}

// fill puts the defaults in.
func (c *Config) fill() error {
	for _, d := range []struct {
		name  string
		field *time.Duration
		value time.Duration
	}{
		{"Poll", &c.Poll, defaultPoll}, {"Timeout", &c.Timeout, defaultTimeout}, {"AskTimeout", &c.AskTimeout, defaultAskTimeout},
		{"FlushInterval", &c.FlushInterval, defaultFlushInterval}, {"RetryWait", &c.RetryWait, defaultRetryWait},
		{"ShutdownTimeout", &c.ShutdownTimeout, 0},
	} {
		if *d.field < 0 {
			return fmt.Errorf("remote: Config.%s must not be negative", d.name)
		} else if *d.field == 0 {
			*d.field = d.value
		}
	}
	for _, d := range []struct {
		name  string
		field *int
		value int
	}{
		{"ExposureMemory", &c.ExposureMemory, defaultExposureMemory}, {"QueueEvents", &c.QueueEvents, defaultQueueEvents},
		{"QueueBytes", &c.QueueBytes, defaultQueueBytes},
	} {
		if *d.field < 0 {
			return fmt.Errorf("remote: Config.%s must not be negative", d.name)
		} else if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.MaxRetries == 0 {
		c.MaxRetries = defaultMaxRetries
	}
	if c.AskRetries == 0 {
		c.AskRetries = defaultAskRetries
	}
	return nil
}

// printableConfig is a Config as it is printed.
type printableConfig Config

func (c Config) mask() printableConfig {
	out := printableConfig(c)
	out.Bundle = nil
	out.URL = redactURL(c.URL)
	if c.Key != "" {
		kind := ""
		if strings.HasPrefix(c.Key, "phs_") || strings.HasPrefix(c.Key, "phx_") {
			kind = c.Key[:4]
		}
		out.Key = kind + "…"
	}
	return out
}

// redactURL is an address without the password that may stand in it.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && strings.Contains(text, "@") {
		return "…"
	}
	return u.Redacted()
}

// Format implements fmt.Formatter.
func (c Config) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), c.mask())
}

// Format implements fmt.Formatter: a Client is its Config.
func (c *Client) Format(f fmt.State, verb rune) {
	switch {
	case f == nil:
	case !c.isInitialized():
		_, _ = fmt.Fprint(f, "remote.Client that is not ready")
	default:
		_, _ = fmt.Fprint(f, "remote.Client of ")
		c.config.Format(f, verb)
	}
}

// MarshalJSON implements json.Marshaler. Hooks, HTTPClient, Logger and Now are left out.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.mask()) }

// LogValue implements slog.LogValuer.
func (c Config) LogValue() slog.Value { return slog.AnyValue(c.mask()) }
