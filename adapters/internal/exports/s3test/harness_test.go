// Package s3test tests the exports and backups to S3 with a real S3 server. It is a separate module, so that
// the product does not get the server's dependencies.
package s3test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
	"github.com/rclone/gofakes3/signature"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/management/batchexports"
)

const (
	keyID    = "AKIDs3cretid"
	secret   = "wJalrs3cret/key+1"
	exportID = "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f"
	base     = "20260101T100000Z-20260101T110000Z." + exportID + "."
)

// asServer is the environment variable with which the test binary runs the server.
const asServer = "BUNTING_TEST_S3_SERVER"

// endpoint is the server that the tests share.
var endpoint string

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serve()
		return
	}
	os.Exit(withServer(m.Run))
}

// serve runs an in-memory S3 server until its standard input ends, which is the end of the tests.
// It is the server of "rclone serve s3", which checks signatures and assembles parts. It prints its
// address.
func serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + l.Addr().String())
	go func() { panic(http.Serve(l, signed(gofakes3.New(s3mem.New()).Server()))) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// signed rejects requests that are not signed with the secret. It removes an empty delimiter, which
// S3 ignores and this server does not. The server's own check of signatures would then fail,
// because the query has changed.
func signed(server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := signature.V4SignVerifyWithLookup(r, func(id string) (string, bool) { return secret, id == keyID })
		if code != signature.ErrNone {
			e := signature.GetAPIError(code)
			w.WriteHeader(e.HTTPStatusCode)
			_, _ = w.Write(signature.EncodeAPIErrorToResponse(e))
			return
		}
		if query := r.URL.Query(); query.Get("delimiter") == "" {
			query.Del("delimiter")
			r.URL.RawQuery = query.Encode()
		}
		server.ServeHTTP(w, r)
	})
}

// withServer runs the server during a call. It is a process of its own, because a test measures how
// much memory exports use.
func withServer(do func() int) int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	// Large objects are most of its memory, so frequent garbage collections cost little.
	cmd.Env, cmd.Stderr = append(os.Environ(), asServer+"=yes", "GOGC=20"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		panic(err)
	}
	endpoint = strings.TrimSpace(line)
	return do()
}

func client(t *testing.T) *minio.Client {
	t.Helper()
	c, err := minio.New(strings.TrimPrefix(endpoint, "http://"), &minio.Options{Creds: credentials.NewStaticV4(keyID, secret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bucket creates a bucket with the name of the test, and returns its settings.
func bucket(t *testing.T) (*minio.Client, map[string]any) {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("_", "-", "/", "-").Replace(t.Name()))
	c := client(t)
	if err := c.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return c, map[string]any{
		"bucket_name": name, "region": "us-east-1", "prefix": "p/", "endpoint_url": endpoint,
		"aws_access_key_id": keyID, "aws_secret_access_key": secret,
	}
}

func runner() *exports.Runner {
	return exports.New(exports.Config{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

func destination(config map[string]any) batchexports.ExportDestination {
	d := batchexports.ExportDestination{Type: "S3", Config: map[string]json.RawMessage{}}
	for name, value := range config {
		d.Config[name], _ = json.Marshal(value)
	}
	return d
}

// job is a run of n rows, each with a string of the given size that does not compress.
func job(config map[string]any, n, size int) *batchexports.Job {
	from := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	return &batchexports.Job{
		Run: "run-1", Export: exportID, Project: 1, Model: "events", Key: []string{"uuid"},
		From: from, To: from.Add(time.Hour), Destination: destination(config),
		Columns: []batchexports.Column{{Name: "uuid"}, {Name: "text"}},
		Rows: func(ctx context.Context, yield func([]any) error) error {
			raw, x := make([]byte, size), uint64(1)
			for i := range n {
				for at := range raw {
					x ^= x << 13
					x ^= x >> 7
					x ^= x << 17
					raw[at] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[x>>32&63]
				}
				if err := yield([]any{strconv.Itoa(i), string(raw)}); err != nil {
					return err
				}
			}
			return ctx.Err()
		},
	}
}

func run(t *testing.T, j *batchexports.Job) batchexports.RunTotals {
	t.Helper()
	done, err := runner().Run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// keys returns a bucket's keys, and the total size of its objects.
func keys(t *testing.T, c *minio.Client, config map[string]any) (names []string, size int64) {
	t.Helper()
	for o := range c.ListObjects(t.Context(), config["bucket_name"].(string), minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		names = append(names, o.Key)
		size += o.Size
	}
	for o := range c.ListIncompleteUploads(t.Context(), config["bucket_name"].(string), "", true) {
		if minio.ToErrorResponse(o.Err).Code == minio.NoSuchUpload {
			break // the server's response for a bucket that never had an upload
		}
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		names = append(names, "incomplete: "+o.Key)
	}
	return names, size
}

func get(t *testing.T, c *minio.Client, config map[string]any, key string) ([]byte, minio.ObjectInfo) {
	t.Helper()
	o, err := c.GetObject(t.Context(), config["bucket_name"].(string), key, minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(o)
	if err != nil {
		t.Fatal(err)
	}
	info, err := o.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return b, info
}

func isRejected(err error) bool {
	var r *batchexports.PermanentError
	return errors.As(err, &r)
}

func wantError(t *testing.T, err error, text string, lasts bool) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || isRejected(err) != lasts {
		t.Errorf("error %v, want one with %q, lasting: %v", err, text, lasts)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, s := range []string{keyID, secret, url.QueryEscape(secret), "wr0ng"} {
			if strings.Contains(fmt.Sprintf("%v %#v", e, e), s) {
				t.Errorf("%v shows %q", e, s)
			}
		}
	}
}
