package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	// smallestPart is the size of a part of an upload, which is held in memory. An upload
	// has at most mostParts parts, so the parts of a database over 72 GiB are larger.
	smallestPart = 8 << 20
	mostParts    = 9000
)

// bucket is a destination in a bucket of S3.
type bucket struct {
	name, prefix string
	client       *minio.Client
	transport    *http.Transport
}

// openS3 opens BUCKET[/PREFIX][?endpoint=URL&region=NAME]. The credentials are the usual ones of
// programs for S3: the environment, the file of AWS's command line, or the
// role of the machine.
func openS3(rest string) (destination, error) {
	u, err := url.Parse("s3://" + rest)
	if err != nil || u.User != nil {
		return nil, errors.New("must be s3://BUCKET/PREFIX; credentials are in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)")
	}
	b := &bucket{name: u.Host, prefix: strings.Trim(u.Path, "/")}
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
	if text := firstOf(query.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")); text != "" {
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
		Region: firstOf(query.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	return b, err
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// newTransport returns a transport of which no single operation takes more than patience.
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
		MaxIdleConnsPerHost: 2, DisableCompression: true,
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

func (b *bucket) String() string { return "s3://" + b.name + "/" + b.prefix }
func (b *bucket) close()         { b.transport.CloseIdleConnections() }

func (b *bucket) put(ctx context.Context, name string, content io.Reader, size int64) error {
	partSize := uint64(smallestPart)
	for partSize*mostParts < uint64(size) {
		partSize *= 2
	}
	_, err := b.client.PutObject(ctx, b.name, b.prefix+name, content, -1, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partSize, NumThreads: 1,
	})
	return b.explain(err)
}

func (b *bucket) open(ctx context.Context, name string) (io.ReadCloser, error) {
	o, err := b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, b.explain(err)
	}
	return &explainedReader{o, b}, nil
}

// explainedReader explains the errors of a request, which begins with the first read.
type explainedReader struct {
	io.ReadCloser
	b *bucket
}

func (r *explainedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.b.explain(err)
	}
	return n, err
}

func (b *bucket) list(ctx context.Context, prefix string) (out []object, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the client's goroutine
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, b.explain(o.Err)
		}
		if len(out) == maxListed {
			return nil, errTooMany
		}
		out = append(out, object{strings.TrimPrefix(o.Key, b.prefix), o.Size, o.LastModified})
	}
	return out, nil
}

func (b *bucket) remove(ctx context.Context, name string) error {
	return b.explain(b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{}))
}

// sweep removes parts of uploads of a killed process: they would be
// charged. The credentials may lack that permission; then the bucket's owner has to remove
// them.
func (b *bucket) sweep(ctx context.Context, prefix string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for upload := range b.client.ListIncompleteUploads(ctx, b.name, b.prefix+prefix, true) {
		if upload.Err != nil {
			return
		}
		if namePattern.MatchString(strings.TrimPrefix(upload.Key, b.prefix)) {
			_ = b.client.RemoveIncompleteUpload(ctx, b.name, upload.Key)
		}
	}
}

// explain adds advice to an error.
func (b *bucket) explain(err error) error {
	var r minio.ErrorResponse
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &r):
		return err
	case r.Code == "NoSuchBucket":
		return fmt.Errorf("the bucket %s does not exist", b.name)
	case r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("S3 denies access to %s (%s: %s): check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; the credentials need s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload", b, r.Code, r.Message)
	}
	return fmt.Errorf("S3 answers %s: %s", r.Code, r.Message)
}
