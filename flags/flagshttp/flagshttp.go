// Package flagshttp gives each request of a web service the flags of whoever sends it.
//
//	r.Use(flagshttp.Middleware(reader, signedIn, flagshttp.Cookie("phc_…")))
//	…
//	flags.FromContext(r.Context()).Bool("search", true)
//
// A page that has [flags.Snapshot.Bootstrap] in it is made for one person: no cache may
// keep it for others.
package flagshttp

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// Middleware puts a snapshot of r into the context of each request, where
// [flags.FromContext] finds it: that of the first subject that one of who gives. Where all
// give nil, or there are none, nobody is known: reads give the fallback, with
// flags.ErrNoDistinctID.
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

// Header takes the distinct id from a header, as a gateway sets one. Anybody can send
// headers: let the gateway take it away from requests that come from outside.
func Header(name string) func(*http.Request) *flags.Subject {
	return func(req *http.Request) *flags.Subject {
		if id := req.Header.Get(name); id != "" {
			return &flags.Subject{DistinctID: id}
		}
		return nil
	}
}

// maxCookie is the longest cookie that is read, in bytes; browsers keep 4 KiB.
const maxCookie = 8 << 10

// inCookie is how posthog-js writes a key in the name of its cookie.
var inCookie = strings.NewReplacer("+", "PL", "/", "SL", "=", "EQ")

// Cookie takes distinct id and device id from the cookie in which posthog-js keeps them,
// ph_<project key>_posthog, so that a page and its server ask for the same person. Who
// visits for the first time has none. Anybody can send any cookie: what a flag protects
// wants a subject from the service's own sign-in.
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
