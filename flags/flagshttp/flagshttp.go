// Package flagshttp provides the flags of the current user to each request of a web service.
//
//	r.Use(flagshttp.Middleware(reader, signedIn, flagshttp.Cookie("phc_…")))
//	…
//	flags.FromContext(r.Context()).Bool("search", true)
//
// A page that includes [flags.Snapshot.Bootstrap] is specific to one person and must not be stored
// in a shared cache.
package flagshttp

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// Middleware stores a snapshot of r in the context of each request, from which [flags.FromContext]
// returns it. The subject of the snapshot is the first non-nil result of the identify functions. If
// all return nil, or there are none, the request has no subject: reads return the fallback, with
// flags.ErrNoDistinctID. A nil r is allowed: reads return the fallback, with flags.ErrNotReady.
func Middleware(r flags.Reader, identify ...func(*http.Request) *flags.Subject) func(http.Handler) http.Handler {
	if r == nil {
		r = flags.NewReader(nil, nil)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			ctx := req.Context()
			next.ServeHTTP(w, req.WithContext(flags.NewContext(ctx, r.For(ctx, firstSubject(req, identify)))))
		})
	}
}

func firstSubject(req *http.Request, identify []func(*http.Request) *flags.Subject) *flags.Subject {
	for _, find := range identify {
		if find == nil {
			continue
		}
		if sub := find(req); sub != nil {
			return sub
		}
	}
	return nil
}

// Header returns a function for [Middleware] that reads the distinct id from a header, for example
// one that a gateway sets. Clients can send any header: the gateway must remove it from requests
// that it receives from outside.
func Header(name string) func(*http.Request) *flags.Subject {
	return func(req *http.Request) *flags.Subject {
		if id := req.Header.Get(name); id != "" {
			return &flags.Subject{DistinctID: id}
		}
		return nil
	}
}

// maxCookie is the maximum length of a cookie that is read, in bytes; browsers store 4 KiB.
const maxCookie = 8 << 10

// inCookie escapes a project key as posthog-js does in the name of its cookie.
var inCookie = strings.NewReplacer("+", "PL", "/", "SL", "=", "EQ")

// Cookie returns a function for [Middleware] that reads the distinct id and device id from
// ph_<project key>_posthog, the cookie of posthog-js, so that a page and its server evaluate flags
// for the same person. A first-time visitor has no such cookie. Clients can send any cookie: for a
// flag that protects something, use a subject from the service's own authentication.
func Cookie(projectKey string) func(*http.Request) *flags.Subject {
	name := "ph_" + inCookie.Replace(projectKey) + "_posthog"
	return func(req *http.Request) *flags.Subject {
		cookie, err := req.Cookie(name)
		if err != nil || len(cookie.Value) > maxCookie {
			return nil
		}
		text, err := url.PathUnescape(cookie.Value)
		if err != nil {
			return nil
		}
		var stored struct {
			DistinctID string `json:"distinct_id"`
			DeviceID   any    `json:"$device_id"`
		}
		if json.Unmarshal([]byte(text), &stored) != nil || stored.DistinctID == "" {
			return nil
		}
		device, _ := stored.DeviceID.(string)
		return &flags.Subject{DistinctID: stored.DistinctID, DeviceID: device}
	}
}
