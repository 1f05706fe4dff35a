package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server of S3 that accepts connections and does not answer, and one that stops in the middle of
// an object, hold up a request only for a bounded number of minutes.
func TestBucket_Patience(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for name, tt := range map[string]struct {
		answer string
		most   time.Duration
		do     func(context.Context, *Bucket) error
	}{
		"no answer": {"", attempts*(patience+time.Second) + time.Second, func(ctx context.Context, b *Bucket) error {
			_, err := b.List(ctx, "some", 10)
			return err
		}},
		"half an object": {
			"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nLast-Modified: Thu, 01 Jan 2026 10:00:00 GMT\r\nETag: \"1\"\r\n\r\n01234", patience,
			func(ctx context.Context, b *Bucket) error {
				r, err := b.Get(ctx, "x")
				if err != nil {
					return err
				}
				_, err = io.ReadAll(r)
				return errors.Join(err, r.Close())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, err := Open("s3://bucket?region=us-east-1&endpoint=http://s3.invalid")
				if err != nil {
					t.Fatal(err)
				}
				b.transport.Proxy = nil
				b.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					go func() {
						defer func() { _ = far.Close() }()
						buf := make([]byte, 4096)
						for answered := false; ; answered = true {
							if _, err := far.Read(buf); err != nil {
								return
							}
							if !answered && tt.answer != "" {
								_, _ = io.WriteString(far, tt.answer)
							}
						}
					}()
					return &patientConn{near}, nil
				}
				began := time.Now()
				err = tt.do(t.Context(), b)
				var late net.Error
				if !errors.As(err, &late) || !late.Timeout() {
					t.Errorf("error %v, want a timeout", err)
				}
				if took := time.Since(began); took < patience || took > tt.most {
					t.Errorf("it ended after %s, want at most %s", took, tt.most)
				}
				b.Close()
			})
		})
	}
}

// scripted returns a bucket of a server that answers requests with one function after another. The
// last one answers all further requests. It returns the number of requests, too.
func scripted(t *testing.T, answers ...http.HandlerFunc) (b *Bucket, requests *int) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // requests come one after another
		answers[min(*requests, len(answers)-1)](w, r)
		*requests++
	}))
	t.Cleanup(server.Close)
	b, err := Open("s3://bucket/p?region=us-east-1&endpoint=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, requests
}

// part answers a request of bytes 2 to 4 with a body and the headers of an object of ten bytes.
func part(contentRange, body string, length int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Range", contentRange)
		h.Set("Content-Length", fmt.Sprint(length))
		h.Set("Last-Modified", "Thu, 01 Jan 2026 10:00:00 GMT")
		h.Set("ETag", `"1"`)
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, body)
	}
}

func refusal(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Some text.</Message><Key>p/x</Key></Error>", code)
	}
}

// A range is requested by RFC 9110 §14.2. A response that ends early, or is of another range, and a
// server that is overloaded, get at most attempts requests; a refusal gets one.
func TestReadAt(t *testing.T) {
	good, cut, other, noRange := part("bytes 2-4/10", "234", 3), part("bytes 2-4/10", "23", 3), part("bytes 0-2/10", "012", 3), part("", "234", 3)
	busy := refusal(http.StatusServiceUnavailable, "SlowDown")
	for name, tt := range map[string]struct {
		answers  []http.HandlerFunc
		requests int
		want     string // of the error
	}{
		"the range":       {[]http.HandlerFunc{good}, 1, ""},
		"cut once":        {[]http.HandlerFunc{cut, good}, 2, ""},
		"another range":   {[]http.HandlerFunc{other, noRange, good}, 3, ""},
		"overloaded":      {[]http.HandlerFunc{busy, busy, good}, 3, ""},
		"always cut":      {[]http.HandlerFunc{cut}, attempts, "unexpected EOF"},
		"always another":  {[]http.HandlerFunc{other}, attempts, "bytes 0-2/10"},
		"overloaded long": {[]http.HandlerFunc{busy}, attempts, "S3 answers SlowDown"},
		"no such object":  {[]http.HandlerFunc{refusal(http.StatusNotFound, "NoSuchKey")}, 1, "is not in s3://bucket/p/"},
		"wrong keys":      {[]http.HandlerFunc{refusal(http.StatusForbidden, "SignatureDoesNotMatch")}, 1, "check AWS_ACCESS_KEY_ID"},
		"no bucket":       {[]http.HandlerFunc{refusal(http.StatusNotFound, "NoSuchBucket")}, 1, "the bucket bucket does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			b, requests := scripted(t, tt.answers...)
			dst := make([]byte, 3)
			err := b.ReadAt(t.Context(), "x", 2, dst[:1], dst[1:])
			if tt.want == "" && (err != nil || string(dst) != "234") {
				t.Errorf("%q, %v", dst, err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if isMissing := errors.Is(err, fs.ErrNotExist); isMissing != (name == "no such object") {
				t.Errorf("error %v, is fs.ErrNotExist: %t", err, isMissing)
			}
			if *requests != tt.requests {
				t.Errorf("%d requests, want %d", *requests, tt.requests)
			}
		})
	}
}

// Of several processes that write an object for the first time, one learns that it did. A service
// without conditional requests writes it anyway.
func TestPutNew(t *testing.T) {
	stored := func(w http.ResponseWriter, r *http.Request) { w.Header().Set("ETag", `"1"`) }
	conditions := []string{}
	noting := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conditions = append(conditions, r.Header.Get("If-None-Match"))
			h(w, r)
		}
	}
	for name, tt := range map[string]struct {
		answers []http.HandlerFunc
		isNew   bool
		want    string
	}{
		"new":           {[]http.HandlerFunc{stored}, true, "*"},
		"there already": {[]http.HandlerFunc{refusal(http.StatusPreconditionFailed, "PreconditionFailed")}, false, "*"},
		"no conditions": {[]http.HandlerFunc{refusal(http.StatusNotImplemented, "NotImplemented"), stored}, true, "* "},
	} {
		t.Run(name, func(t *testing.T) {
			conditions = conditions[:0]
			for i, h := range tt.answers {
				tt.answers[i] = noting(h)
			}
			b, _ := scripted(t, tt.answers...)
			isNew, err := b.PutNew(t.Context(), "x", []byte("1"))
			if got := strings.Join(conditions, " "); err != nil || isNew != tt.isNew || got != tt.want {
				t.Errorf("new: %t, %v, conditions %q, want %q", isNew, err, got, tt.want)
			}
		})
	}
}
