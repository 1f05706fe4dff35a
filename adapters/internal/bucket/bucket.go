package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

const (
	// patience is the timeout of a connection to S3, of a single read or write, and of the
	// wait for a response.
	patience = time.Minute
	// attempts is the maximum number of attempts of a request to S3.
	attempts = 4
)

// Bucket is the part of a bucket below a prefix. It can be used concurrently.
type Bucket struct {
	name, prefix string
	client       *minio.Client
	transport    *http.Transport
}

// Scheme begins the address of a bucket.
const Scheme = "s3://"

// Open prepares the use of s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME]. It does not connect. The
// credentials are those that other programs for S3 use: the environment, the file of AWS's command
// line, or the role of the machine. Connections are encrypted unless the endpoint begins with
// http://.
func Open(address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || !strings.HasPrefix(address, Scheme) {
		return nil, errors.New("must be s3://BUCKET/PREFIX; credentials are in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)")
	}
	b := &Bucket{name: u.Host, prefix: strings.Trim(u.Path, "/")}
	if b.prefix != "" {
		b.prefix += "/"
	}
	if err := s3utils.CheckValidBucketName(b.name); err != nil {
		return nil, fmt.Errorf("%q cannot be the name of a bucket: must be s3://BUCKET/PREFIX", b.name)
	}
	query := u.Query()
	for name := range query {
		if !slices.Contains([]string{"endpoint", "region"}, name) {
			return nil, fmt.Errorf("s3://%s has the parameter %q, and may have endpoint and region", b.name, name)
		}
	}
	endpoint := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"} // the client adds the region
	if text := cmp.Or(query.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")); text != "" {
		endpoint, err = url.Parse(text)
		if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" || endpoint.User != nil || strings.Trim(endpoint.Path, "/") != "" || endpoint.RawQuery != "" {
			return nil, errors.New("the endpoint must be https://HOST or https://HOST:PORT, such as s3://BUCKET/PREFIX?endpoint=https://minio.example.com")
		}
	}
	b.transport = newTransport()
	b.client, err = minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}),
		// The role of the machine is read over the same transport.
		Secure: endpoint.Scheme == "https", Transport: b.transport, MaxRetries: attempts,
		Region: cmp.Or(query.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	return b, err
}

// newTransport returns a transport whose single operations time out after patience.
func newTransport() *http.Transport {
	dialer := net.Dialer{Timeout: patience}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &patientConn{conn}, nil
		},
		TLSHandshakeTimeout: patience, ResponseHeaderTimeout: patience, IdleConnTimeout: patience,
		MaxIdleConnsPerHost: 16, DisableCompression: true,
	}
}

// patientConn is a connection of which each read and write times out after patience.
type patientConn struct{ net.Conn }

func (c *patientConn) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// String returns the address without its parameters.
func (b *Bucket) String() string { return Scheme + b.name + "/" + b.prefix }

// Close ends unused connections.
func (b *Bucket) Close() { b.transport.CloseIdleConnections() }

// ErrUnavailable is the error, for errors.Is, if S3 cannot be reached or fails: the same request may
// succeed later.
var ErrUnavailable = errors.New("S3 is unavailable")

// unavailable is an error that is ErrUnavailable, too.
type unavailable struct{ error }

func (u unavailable) Is(target error) bool { return target == ErrUnavailable }
func (u unavailable) Unwrap() error        { return u.error }

// explain adds advice to an error. The error is fs.ErrNotExist if there is no such object.
func (b *Bucket) explain(err error) error {
	var r minio.ErrorResponse
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &r):
		return unavailable{fmt.Errorf("%s cannot be reached: %w", b, err)}
	case r.Code == minio.NoSuchBucket:
		return fmt.Errorf("the bucket %s does not exist", b.name)
	case r.Code == minio.NoSuchKey:
		return fmt.Errorf("%s is not in %s: %w", strings.TrimPrefix(r.Key, b.prefix), b, fs.ErrNotExist)
	case r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("S3 denies access to %s (%s: %s): check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; the credentials need s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload", b, r.Code, r.Message)
	case r.StatusCode >= http.StatusInternalServerError, r.StatusCode == http.StatusTooManyRequests:
		return unavailable{fmt.Errorf("%s: S3 answers %s: %s", b, r.Code, r.Message)}
	}
	return fmt.Errorf("%s: S3 answers %s: %s", b, r.Code, r.Message)
}
