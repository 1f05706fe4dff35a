package backups

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// While the destination fails, the time between two attempts doubles from a minute up to the
// interval. After a backup it is the interval again, and after the next failure a minute. Each attempt is traced with its result.
func TestRunner_RetryDelays(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t, dir, data, nil, content)
		d := &faulty{destination: r.destination, noList: true}
		r.destination, r.Interval = d, 10*time.Minute
		last, delays, failed := time.Now(), []time.Duration{}, []bool{}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		r.Done = func(_ Backup, err error) {
			delays, failed, last = append(delays, time.Since(last)), append(failed, err != nil), time.Now()
			switch len(delays) {
			case 6, 8:
				d.noList = !d.noList
			case 9:
				cancel()
			}
		}
		var traced []bool
		r.Trace = func(ctx context.Context) (context.Context, func(error)) {
			return ctx, func(err error) { traced = append(traced, err != nil) }
		}
		r.Run(ctx)
		m := time.Minute
		if want := []time.Duration{0, m, 2 * m, 4 * m, 8 * m, 10 * m, 10 * m, 10 * m, 10 * m}; !slices.Equal(delays, want) {
			t.Errorf("delays %v, want %v", delays, want)
		}
		if want := []bool{true, true, true, true, true, true, false, false, true}; !slices.Equal(failed, want) {
			t.Errorf("failed: %v, want %v", failed, want)
		}
		if !slices.Equal(traced, failed) {
			t.Errorf("traced as failed: %v, want %v", traced, failed)
		}
		if s := r.Status(); s.Failures != 7 || s.Failure == nil || s.Age() != 10*m {
			t.Errorf("status %+v", s)
		}
	})
}

// A server of S3 that accepts connections and does not answer, and one that stops in the middle of
// an object, hold up a backup only for a bounded number of minutes.
func TestBucket_Patience(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for name, tt := range map[string]struct {
		answer string
		most   time.Duration
		do     func(context.Context, destination) error
	}{
		"no answer": {"", attempts*(patience+time.Second) + time.Second, func(ctx context.Context, d destination) error {
			_, err := d.list(ctx, nameStart)
			return err
		}},
		"half an object": {
			"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nLast-Modified: Thu, 01 Jan 2026 10:00:00 GMT\r\nETag: \"1\"\r\n\r\n01234", patience,
			func(ctx context.Context, d destination) error {
				r, err := d.open(ctx, "x")
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
				d, err := openS3("bucket?region=us-east-1&endpoint=http://s3.invalid")
				if err != nil {
					t.Fatal(err)
				}
				d.(*bucket).transport.Proxy = nil
				d.(*bucket).transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
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
				err = tt.do(t.Context(), d)
				var late net.Error
				if !errors.As(err, &late) || !late.Timeout() {
					t.Errorf("error %v, want a timeout", err)
				}
				if took := time.Since(began); took < patience || took > tt.most {
					t.Errorf("it ended after %s, want at most %s", took, tt.most)
				}
				d.close()
			})
		})
	}
}
