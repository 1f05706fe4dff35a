// Package remote decides flags inside other Go services, with definitions that it
// fetches over HTTP from a Bunting server or from PostHog, whose wire is the same.
//
// A [Source] keeps a project's definitions current and is never without those it
// had: a copy on disk, a bundle of the program, the network. A [Client] stands on
// one: it decides, reads values with a default, and sends exposures and events
// back.
package remote

import (
	"log/slog"
	"net/http"
	"time"
)

// Config says whose flags are decided, and how. URL, ProjectKey and Key are
// required.
type Config struct {
	// URL is the server's, such as https://flags.example.com.
	URL string
	// ProjectKey is the project's public key, phc_….
	ProjectKey string
	// Key opens the definitions: a project's secret key, phs_…, or a personal key,
	// phx_…, with the scope feature_flag:read.
	Key string

	// Dir is the folder of the copy of the last good definitions; its name is made of
	// URL and ProjectKey. Empty: bunting in the user's cache folder (os.UserCacheDir).
	Dir string
	// NoCopy keeps no copy on disk.
	NoCopy bool
	// Bundle are definitions that the program brings along (go:embed): a payload of
	// /flags/definitions or a definitions file of one project. Used until something
	// newer is had. Nil: none.
	Bundle []byte

	// Poll is how often changes are asked for where there is no stream, DefaultPoll
	// when zero.
	Poll time.Duration
	// NoStream asks for changes by polling alone.
	NoStream bool

	// Timeout bounds one request, DefaultTimeout when zero.
	Timeout time.Duration
	// HTTPClient makes requests, one with the defaults of net/http when nil. Its
	// Timeout must be zero: streams are long.
	HTTPClient *http.Client
	// Logger is told what an operator may want to know. Nil: nobody is told.
	Logger *slog.Logger
	// Now is the clock, time.Now when nil.
	Now func() time.Time

	ClientConfig
}

// Defaults of Config.
const (
	DefaultPoll    = 30 * time.Second
	DefaultTimeout = 10 * time.Second
)
