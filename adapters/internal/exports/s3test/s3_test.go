package s3test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
)

func TestObjects(t *testing.T) {
	c, config := bucket(t)
	done := run(t, job(config, 2, 3))
	names, _ := keys(t, c, config)
	if diff := cmp.Diff([]string{"p/" + base + "1.jsonl"}, names); diff != "" {
		t.Fatal(diff)
	}
	raw, info := get(t, c, config, names[0])
	if lines := strings.Split(string(raw), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[1], `{"uuid":"1","text":"`) {
		t.Errorf("object %q", raw)
	}
	if info.ContentType != "application/x-ndjson" || done.Rows != 2 || done.Bytes != int64(len(raw)) {
		t.Errorf("%s, done %+v", info.ContentType, done)
	}
	for _, tt := range []struct{ format, compression, extension, magic string }{
		{"JSONLines", "gzip", ".jsonl.gz", "\x1f\x8b"}, {"JSONLines", "brotli", ".jsonl.br", ""}, {"Parquet", "zstd", ".parquet", "PAR1"},
	} {
		config["file_format"], config["compression"] = tt.format, tt.compression
		run(t, job(config, 2, 3))
		// Files of an attempt in another format are removed.
		names, _ := keys(t, c, config)
		if diff := cmp.Diff([]string{"p/" + base + "1" + tt.extension}, names); diff != "" {
			t.Fatal(diff)
		}
		if raw, _ := get(t, c, config, names[0]); !strings.HasPrefix(string(raw), tt.magic) {
			t.Errorf("%s: %q", tt.extension, raw)
		}
	}
}

// Objects are split, and another attempt removes the objects of the first one.
func TestAgain(t *testing.T) {
	c, config := bucket(t)
	config["max_file_size_mb"] = 1
	done := run(t, job(config, 35, 100_000))
	names, size := keys(t, c, config)
	want := []string{"p/" + base + "1.jsonl", "p/" + base + "2.jsonl", "p/" + base + "3.jsonl", "p/" + base + "4.jsonl"}
	if diff := cmp.Diff(want, names); diff != "" || size != done.Bytes {
		t.Fatal(diff, size, done)
	}
	other := "p/" + base + "5.jsonl.bak"
	if _, err := c.PutObject(t.Context(), config["bucket_name"].(string), other, strings.NewReader("x"), 1, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	run(t, job(config, 11, 100_000))
	names, _ = keys(t, c, config)
	if diff := cmp.Diff([]string{want[0], other}, names); diff != "" {
		t.Error(diff)
	}
}

// Large objects are uploaded in parts: after an interrupted run no parts remain, and the memory use
// is low.
func TestLarge(t *testing.T) {
	c, config := bucket(t)
	j := job(config, 8000, 10_000)
	var peak uint64
	rows := j.Rows
	j.Rows = func(ctx context.Context, yield func([]any) error) error {
		n := 0
		return rows(ctx, func(row []any) error {
			if n++; n%500 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
			return yield(row)
		})
	}
	done := run(t, j)
	names, size := keys(t, c, config)
	if len(names) != 1 || size != done.Bytes || done.Rows != 8000 || size < 80_000_000 {
		t.Errorf("%v with %d bytes, done %+v", names, size, done)
	}
	t.Logf("peak %d MiB", peak>>20)
	if peak > 64<<20 {
		t.Errorf("%d MiB in use", peak>>20)
	}

	broken := errors.New("the store is gone")
	j.Rows = func(ctx context.Context, yield func([]any) error) error {
		if err := rows(ctx, yield); err != nil {
			return err
		}
		return broken
	}
	if _, err := runner().Run(t.Context(), j); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the rows", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	j.Rows = func(_ context.Context, yield func([]any) error) error {
		n := 0
		return rows(ctx, func(row []any) error {
			if n++; n == 4000 {
				cancel()
			}
			return yield(row)
		})
	}
	if _, err := runner().Run(ctx, j); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	again, same := keys(t, c, config)
	if !slices.Equal(again, names) || same != size {
		t.Errorf("after failures: %v with %d bytes, want %v with %d", again, same, names, size)
	}
}

// Parts that a killed process has uploaded are removed.
func TestKilled(t *testing.T) {
	c, config := bucket(t)
	core := minio.Core{Client: c}
	key, name := "p/"+base+"1.jsonl", config["bucket_name"].(string)
	if _, err := core.NewMultipartUpload(t.Context(), name, key, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if names, _ := keys(t, c, config); !slices.Equal(names, []string{"incomplete: " + key}) {
		t.Fatal(names)
	}
	run(t, job(config, 1, 1))
	if names, _ := keys(t, c, config); !slices.Equal(names, []string{key}) {
		t.Error(names)
	}
}

func TestErrors(t *testing.T) {
	_, config := bucket(t)
	for name, tt := range map[string]struct {
		name  string
		value any
		text  string
		lasts bool
	}{
		"secret":         {"aws_secret_access_key", "wr0ng", "S3 denies access (SignatureDoesNotMatch)", true},
		"key":            {"aws_access_key_id", "wr0ng", "S3 denies access (InvalidAccessKeyId)", true},
		"anonymous":      {"aws_access_key_id", "", "S3 denies access (AccessDenied)", true},
		"bucket":         {"bucket_name", "missing-one", "Bucket missing-one does not exist.", true},
		"a bad bucket":   {"bucket_name", "A..b", "cannot be the name of a bucket", true},
		"no bucket":      {"bucket_name", "", "missing required field: 'bucket_name'", true},
		"no region":      {"region", "", "missing required field: 'region'", true},
		"nobody there":   {"endpoint_url", "http://127.0.0.1:1", "connection refused", false},
		"metadata":       {"endpoint_url", "http://169.254.169.254", notPublic, true},
		"not a URL":      {"endpoint_url", "ftp://x", "not an http or https URL", true},
		"with a path":    {"endpoint_url", endpoint + "/path", "a scheme, a host and a port only", true},
		"with a user":    {"endpoint_url", "http://ann:wr0ng@x", "a scheme, a host and a port only", true},
		"virtual hosts":  {"endpoint_url", "http://s3.invalid", "its name has no address", false},
		"encryption":     {"encryption", "ROT13", "Encryption \"ROT13\" is not supported", true},
		"a bad type":     {"max_file_size_mb", "wr0ng", `invalid type: "max_file_size_mb"`, true},
		"a bad format":   {"file_format", "CSV", "File format CSV is not supported", true},
		"another folder": {"prefix", "../x", "must not contain ..", true},
	} {
		t.Run(name, func(t *testing.T) {
			changed := map[string]any{}
			for k, v := range config {
				changed[k] = v
			}
			changed[tt.name] = tt.value
			_, err := runner().Run(t.Context(), job(changed, 1, 1))
			wantError(t, err, tt.text, tt.lasts)
			if name == "virtual hosts" {
				changed["use_virtual_style_addressing"] = true
				_, err := runner().Run(t.Context(), job(changed, 1, 1))
				wantError(t, err, "its name has no address", false)
			}
		})
	}
	_, err := exports.New(exports.Config{}).Run(t.Context(), job(config, 1, 1))
	wantError(t, err, notPublic, true)
}

// notPublic is the message for internal addresses. It does not include them, because the user may
// be trying to find them.
const notPublic = "is not public, and this server does not allow it"

// The request asks S3 to encrypt. A proxy checks the request, because the test server accepts
// AES256 without encrypting, and rejects KMS, which it does not support.
func TestEncryption(t *testing.T) {
	_, config := bucket(t)
	target, _ := url.Parse(endpoint)
	var mu sync.Mutex
	var seen []string
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, r.In.Host
		mu.Lock()
		defer mu.Unlock()
		if r.In.URL.Query().Has("uploads") && r.In.Method == http.MethodPost {
			h := r.In.Header
			seen = append(seen, h.Get("X-Amz-Server-Side-Encryption")+" "+h.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"))
		}
	}})
	defer proxy.Close()
	config["endpoint_url"] = proxy.URL
	for _, encryption := range []string{"", "AES256", "aws:kms"} {
		config["encryption"], config["kms_key_id"] = encryption, "key-1"
		_, err := runner().Run(t.Context(), job(config, 1, 1))
		if encryption == "aws:kms" {
			wantError(t, err, "S3 answers NotImplemented: ", false)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{" ", "AES256 ", "aws:kms key-1"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestSteps(t *testing.T) {
	c, config := bucket(t)
	steps := runner().Steps("S3")
	if len(steps) != 4 || steps[1].Name != "Check S3 bucket exists" {
		t.Fatal(steps)
	}
	d := destination(config)
	for i := range steps {
		if err := runner().Test(t.Context(), d, i); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		want := 0
		if i == 2 {
			want = 1
		}
		if names, _ := keys(t, c, config); len(names) != want {
			t.Errorf("after step %d: %v", i, names)
		}
	}
	for _, tt := range []struct {
		name, value string
		step        int
		text        string
	}{
		{"bucket_name", "missing-one", 1, "Bucket missing-one does not exist, or the credentials do not let it be seen."},
		{"aws_secret_access_key", "wr0ng", 1, "S3 denies access"},
		{"aws_secret_access_key", "wr0ng", 2, "S3 denies access"},
		{"aws_secret_access_key", "wr0ng", 3, "S3 denies access"},
		{"aws_secret_access_key", "", 0, "The test step cannot run as it's not configured."},
		{"bucket_name", "", 0, "The test step cannot run as it's not configured."},
		{"endpoint_url", "http://10.0.0.1", 0, notPublic},
		{"endpoint_url", "http://127.0.0.1:1", 0, "The test step failed with an unknown error: "},
	} {
		old := config[tt.name]
		config[tt.name] = tt.value
		wantError(t, runner().Test(t.Context(), destination(config), tt.step), tt.text, true)
		config[tt.name] = old
	}
}
