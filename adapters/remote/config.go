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

// Config configures a Client. URL, ProjectKey and Key are required, unless Offline is set. Package
// fmt, encoding/json and slog print a Config with its Key masked and without its Bundle. In an
// unexported field of another struct fmt cannot call these methods, and prints the Key.
type Config struct {
	// URL is the address of the server, such as https://flags.example.com. It may have a path in
	// front of /flags/definitions.
	URL string
	// ProjectKey is the project's public key, phc_….
	ProjectKey string
	// Key authorizes reading the definitions: a project's secret key, phs_…, or a personal key,
	// phx_…, with the scope feature_flag:read.
	Key string

	// Offline disables all network requests: flags come from the copy, or from Bundle if there is
	// no copy, and do not change. AskServer has no effect, and AskAll fails. No exposures are sent;
	// events passed to Track are dropped without an error, and counted (Stats.Dropped).
	Offline bool

	// Dir is the folder of the copy of the last good definitions; the file's name is derived from
	// URL and ProjectKey. Several processes may share it: the last writer wins. If empty, it is
	// "bunting" in the user's cache folder (os.UserCacheDir). If the folder cannot be used, Logger
	// receives one warning, and the Client runs without a copy.
	Dir string
	// NoCopy disables the copy on disk.
	NoCopy bool
	// Bundle has definitions that are built into the program (go:embed): a payload of
	// /flags/definitions or a definitions file of one project. It is used only if there is no
	// usable copy: a copy has precedence, even over a newer bundle. New fails for a bundle that
	// cannot be parsed, whether it is used or not. If nil, there is no bundle.
	Bundle []byte `json:"-"`

	// Full declares that subjects carry everything that is stored about them: properties, static
	// cohorts, identifiers of experience continuity. A missing property is then absent, and every
	// flag is decided. If false, a property that a subject does not have is unknown, and a flag
	// with a value that could depend on it is not decided (decision 2). A subject with Partial set
	// is partial in any case.
	Full bool
	// AskServer requests flags from the server (POST /flags?v=2) that cannot be decided locally or
	// that the definitions do not include. If false, the Client never does so.
	AskServer bool
	// AskTimeout is the limit for one such request with all its retries, by default 3 seconds.
	AskTimeout time.Duration
	// AskRetries is how often a request for flags is retried after 502, 503 or 504 or a lost
	// connection, by default 2; negative means never. The first wait is at most a tenth of a
	// second, each further one twice as long, and no wait is shorter than a Retry-After. A wait
	// that would exceed AskTimeout ends the request.
	AskRetries int
	// GeoIP allows the server to locate the IP address of requests, which is this machine's, for
	// the flags that are requested from it and for events. If false, requests disable that
	// (geoip_disable).
	GeoIP bool

	// Poll is the interval of polling for changes while there is no stream, by default 30 seconds.
	// Each wait is up to a tenth shorter or longer.
	Poll time.Duration
	// NoStream disables streams: changes are received by polling only.
	NoStream bool
	// Timeout is the limit for one request, by default 10 seconds. For a stream it limits the time
	// until the stream begins.
	Timeout time.Duration

	// NoExposures disables the events $feature_flag_called.
	NoExposures bool
	// ExposureMemory is the number of exposures that are remembered so that each is sent once, by
	// default 65,536. The least recently used is evicted first.
	ExposureMemory int

	// QueueEvents and QueueBytes limit the queue of events, by default 10,000 events and 32 MiB.
	// Events that arrive while the queue is full are dropped.
	QueueEvents, QueueBytes int
	// FlushInterval is the maximum time that an event waits for others, by default 5 seconds. A
	// hundred events are sent immediately.
	FlushInterval time.Duration
	// RetryWait is the wait before the first retry of a batch, by default half a second. It doubles
	// up to 30 seconds. A Retry-After is honored, up to 5 minutes.
	RetryWait time.Duration
	// MaxRetries is how often a batch is retried before it is dropped, by default 20 (about eight
	// minutes); negative means no limit.
	MaxRetries int
	// ShutdownTimeout limits how long Close sends queued events; Close's context limits it too. If
	// zero, the limit is 10 seconds unless that context has a deadline.
	ShutdownTimeout time.Duration

	// Hooks are called around each typed read, and around the first read of each flag of a
	// snapshot: see flags.WithHooks. If a hook panics, the panic is logged and the read continues.
	Hooks []flags.Hook `json:"-"`
	// HTTPClient sends the requests. If nil, the Client uses the defaults of net/http. Its Timeout
	// must be zero, because streams are long.
	HTTPClient *http.Client `json:"-"`
	// Logger receives messages for operators. If nil, nothing is logged.
	Logger *slog.Logger `json:"-"`
	// Now is the clock of Status, by default time.Now. Waits do not depend on it, so it may be set
	// back.
	Now func() time.Time `json:"-"`

	knobs *knobs // nil outside of tests
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

// complete validates a Config and fills in defaults.
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

// checkServer checks the fields that are needed to send requests to a server.
func (c *Config) checkServer() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil: // url.Error repeats the whole URL, which may include a password
		var inURL *url.Error
		if errors.As(err, &inURL) {
			err = inURL.Err
		}
		return fmt.Errorf("remote: Config.URL cannot be read: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("remote: Config.URL must be a URL such as https://flags.example.com, not %q", redactURL(c.URL))
	case strings.ContainsAny(c.URL, "?#") || u.User != nil:
		return errors.New("remote: Config.URL has a query, a fragment or a user: leave them out")
	case c.ProjectKey == "":
		return errors.New("remote: Config.ProjectKey is empty, set it to the project's public key, phc_…")
	case c.Key == "":
		return errors.New("remote: Config.Key is empty, set it to a project's secret key, phs_…, or a personal key, phx_…")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("remote: Config.Key has a character that keys do not have, such as the end of a line")
	}
	return nil
}

// fill sets the defaults of zero fields.
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

// printableConfig is a Config without the methods that would print it again.
type printableConfig Config

// mask returns a copy to print, with the secrets masked.
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

// redactURL returns an address without the password that it may include.
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

// Format implements fmt.Formatter. It prints the Client's Config.
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

// MarshalJSON implements json.Marshaler. It omits Hooks, HTTPClient, Logger and Now.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.mask()) }

// LogValue implements slog.LogValuer.
func (c Config) LogValue() slog.Value { return slog.AnyValue(c.mask()) }
