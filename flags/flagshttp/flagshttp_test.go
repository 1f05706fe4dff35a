package flagshttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagshttp"
	"github.com/bunting-flags/bunting/flags/flagstest"
)

// cookieOf returns a cookie as posthog-js 1.449.2 sends it: encodeURIComponent(JSON.stringify(…)),
// with the properties that its storage.ts writes to the cookie.
func cookieOf(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// The subject of a request is found by each method, in their order.
func TestMiddleware(t *testing.T) {
	who := []func(*http.Request) *flags.Subject{
		func(r *http.Request) *flags.Subject {
			if id, _, ok := r.BasicAuth(); ok {
				return &flags.Subject{DistinctID: id, Person: flags.Properties{"plan": "pro"}}
			}
			return nil
		},
		nil,
		flagshttp.Header("X-User"),
		flagshttp.Cookie("phc_a+b/c="),
	}
	const name = "ph_phc_aPLbSLcEQ_posthog"
	anonymous := cookieOf(`{"distinct_id":"0199-a b+c;\"é","$device_id":"0199","$sesid":[1,"x",2],"$user_state":"anonymous"}`)
	for _, tt := range []struct{ name, user, header, cookie, want string }{
		{name: "nobody", want: "nobody"},
		{name: "a header", header: "bob", want: "bob"},
		{name: "a cookie", cookie: name + "=" + anonymous, want: `0199-a b+c;"é 0199`},
		{name: "one's own way goes first", user: "ana", header: "bob", cookie: name + "=" + anonymous, want: "ana"},
		{name: "of another project", cookie: "ph_phc_other_posthog=" + anonymous, want: "nobody"},
		{name: "no JSON", cookie: name + "=%7Bdistinct", want: "nobody"},
		{name: "no escape", cookie: name + "=%zz", want: "nobody"},
		{name: "no text", cookie: name + "=" + cookieOf(`{"distinct_id":5}`), want: "nobody"},
		{name: "no object", cookie: name + "=" + cookieOf(`["distinct_id"]`), want: "nobody"},
		{name: "an empty id", cookie: name + "=" + cookieOf(`{"distinct_id":""}`), want: "nobody"},
		{name: "cookieless", cookie: name + "=" + cookieOf(`{"distinct_id":"x","$device_id":null}`), want: "x"},
		{name: "too long", cookie: name + "=" + cookieOf(`{"distinct_id":"`+strings.Repeat("x", 9000)+`"}`), want: "nobody"},
	} {
		got := ""
		handler := flagshttp.Middleware(flagstest.New(t).Reader(), who...)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			s := flags.FromContext(r.Context())
			if got = "nobody"; s.Subject() != nil {
				got = strings.TrimSpace(s.Subject().DistinctID + " " + s.Subject().DeviceID)
			} else if err := s.Detail("x").Err; !errors.Is(err, flags.ErrNoDistinctID) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}))
		r := httptest.NewRequest("GET", "/", nil)
		if tt.user != "" {
			r.SetBasicAuth(tt.user, "")
		}
		for name, value := range map[string]string{"X-User": tt.header, "Cookie": tt.cookie} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// If the Reader is nil, reads return the fallback.
func TestMiddleware_NoReader(t *testing.T) {
	flagshttp.Middleware(nil)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if s := flags.FromContext(r.Context()); !s.Bool("x", true) || !errors.Is(s.Detail("x").Err, flags.ErrNotReady) {
			t.Errorf("%+v", s.Detail("x"))
		}
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}

// Any cookie yields a subject with an id, or no subject.
func FuzzCookie(f *testing.F) {
	for _, s := range []string{cookieOf(`{"distinct_id":"a","$device_id":"b"}`), "%7B%7D", "%", `{"distinct_id":"a"}`} {
		f.Add(s)
	}
	find := flagshttp.Cookie("phc_x")
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Cookie", "ph_phc_x_posthog="+value)
		if sub := find(r); sub != nil && sub.DistinctID == "" {
			t.Errorf("%+v", sub)
		}
	})
}

func Example() {
	reader, err := flags.Static([]byte(`{"flags": [{"id": 1, "key": "search", "active": true, "filters": {"groups": [{}]}}]}`))
	if err != nil {
		panic(err)
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := flags.FromContext(r.Context())
		_, _ = fmt.Fprint(w, s.Subject().DistinctID, " ", s.Bool("search", false))
	})
	handler := flagshttp.Middleware(reader, flagshttp.Cookie("phc_shop"))(page)

	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Cookie", "ph_phc_shop_posthog=%7B%22distinct_id%22%3A%22ana%22%7D")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(w.Body)
	// Output: ana true
}
