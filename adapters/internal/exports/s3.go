package exports

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// s3Attempts is the maximum number of attempts of a request to S3.
const s3Attempts = 4

// bucket is a destination in a bucket of an S3 endpoint.
type bucket struct {
	format
	Bucket     string `json:"bucket_name"`
	Region     string `json:"region"`
	Prefix     string `json:"prefix"`
	KeyID      string `json:"aws_access_key_id"`
	Secret     string `json:"aws_secret_access_key"`
	Encryption string `json:"encryption"`
	KMSKey     string `json:"kms_key_id"`
	Endpoint   string `json:"endpoint_url"`
	Virtual    bool   `json:"use_virtual_style_addressing"`

	begin     string // prefix of every key
	guard     guard
	transport *http.Transport
	client    *minio.Client
	sse       encrypt.ServerSide
}

func (r *Runner) openS3(d batchexports.ExportDestination) (destination, error) {
	b := &bucket{guard: r.guard}
	err := settings(d, b)
	if err == nil {
		err = b.check()
	}
	if err == nil {
		b.begin, err = joinPrefix(b.Prefix, "")
	}
	if err == nil {
		err = b.encrypt()
	}
	if err == nil && b.Bucket != "" && s3utils.CheckValidBucketName(b.Bucket) != nil {
		err = rejectf("%q cannot be the name of a bucket.", b.Bucket)
	}
	if err != nil {
		return nil, err
	}
	endpoint := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"} // the client adds the region
	if b.Endpoint != "" {
		if endpoint, err = parseURL("endpoint_url", b.Endpoint); err != nil {
			return nil, err
		}
		if endpoint.User != nil || strings.Trim(endpoint.Path, "/") != "" || endpoint.RawQuery != "" {
			return nil, rejectf("endpoint_url may have a scheme, a host and a port only.")
		}
	}
	b.transport = r.guard.transport(r.RootCAs)
	lookup := minio.BucketLookupPath
	if b.Virtual {
		lookup = minio.BucketLookupDNS
	}
	b.client, err = minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewStaticV4(b.KeyID, b.Secret, ""), Secure: endpoint.Scheme == "https", Transport: b.transport,
		Region: b.Region, BucketLookup: lookup, MaxRetries: s3Attempts,
	})
	if err != nil {
		return nil, withoutSecrets(b, err)
	}
	return b, nil
}

func (b *bucket) encrypt() (err error) {
	switch b.Encryption {
	case "":
	case "AES256":
		b.sse = encrypt.NewSSE()
	case "aws:kms":
		b.sse, err = encrypt.NewSSEKMS(b.KMSKey, nil)
	default:
		err = rejectf("Encryption %q is not supported. Supported are: AES256, aws:kms.", b.Encryption)
	}
	return err
}

func (b *bucket) run(ctx context.Context, rows *rows) (batchexports.RunTotals, error) {
	return writeParts(ctx, rows, b, &b.format, b.begin)
}

func (b *bucket) create(ctx context.Context, name string) (part, error) {
	// Parts that a killed process has uploaded would stay, and be charged, until they are removed.
	// The credentials may lack that permission; then the bucket's owner has to remove them.
	_ = b.client.RemoveIncompleteUpload(ctx, b.Bucket, name)
	out, in := io.Pipe()
	p := &upload{PipeWriter: in, ended: make(chan error, 1)}
	go func() {
		_, err := b.client.PutObject(ctx, b.Bucket, name, out, -1, minio.PutObjectOptions{
			ContentType: b.contentType(), ServerSideEncryption: b.sse, PartSize: uploadPart, NumThreads: 1,
		})
		_ = out.CloseWithError(err) // unblocks a pending write; never fails
		p.ended <- err
	}()
	return p, nil
}

// upload is an object that is being uploaded.
type upload struct {
	*io.PipeWriter
	ended chan error // receives one value
	over  bool
}

func (u *upload) commit() error {
	_ = u.Close() // never fails
	u.over = true
	return <-u.ended
}

// errAborted ends an upload, which the client then removes.
var errAborted = errors.New("the upload was given up")

func (u *upload) abort() {
	if !u.over {
		_ = u.CloseWithError(errAborted) // never fails
		<-u.ended                        //nolint:errcheck // it is given up
	}
}

func (b *bucket) list(ctx context.Context, prefix string, do func(string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the client's goroutine
	for object := range b.client.ListObjects(ctx, b.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if object.Err != nil {
			return object.Err
		}
		do(object.Key)
	}
	return nil
}

func (b *bucket) remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.Bucket, name, minio.RemoveObjectOptions{})
}

// needs does not require credentials for a run: it is then anonymous, for buckets that everyone can
// write to.
func (b *bucket) needs(test bool) []string {
	pairs := []string{"bucket_name", b.Bucket, "region", b.Region}
	if test {
		pairs = append(pairs, "aws_access_key_id", b.KeyID, "aws_secret_access_key", b.Secret)
	}
	return pairs
}

func (b *bucket) secrets() []string { return []string{b.Secret, b.KeyID} }
func (b *bucket) close()            { b.transport.CloseIdleConnections() }

func (b *bucket) steps() []func(context.Context) error {
	test := b.begin + testName
	return []func(context.Context) error{
		func(ctx context.Context) error { return b.guard.testDial(ctx, hostPort(b.client.EndpointURL())) },
		func(ctx context.Context) error {
			exists, err := b.client.BucketExists(ctx, b.Bucket)
			if err == nil && !exists {
				err = rejectf("Bucket %s does not exist, or the credentials do not let it be seen.", b.Bucket)
			}
			return err
		},
		func(ctx context.Context) error {
			const text = "test\n"
			_, err := b.client.PutObject(ctx, b.Bucket, test, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{ServerSideEncryption: b.sse})
			return err
		},
		func(ctx context.Context) error {
			if err := b.list(ctx, test, func(string) {}); err != nil {
				return err
			}
			return b.remove(ctx, test)
		},
	}
}

// explain explains a response of S3. Errors that the request has caused are permanent, except for
// codes that ask for another attempt.
func (b *bucket) explain(err error) error {
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		return explainNet(err)
	}
	switch {
	case r.Code == "NoSuchBucket":
		return rejectf("Bucket %s does not exist.", b.Bucket)
	case r.StatusCode == http.StatusForbidden:
		return rejectf("S3 denies access (%s): %s The credentials need s3:ListBucket, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload.", r.Code, r.Message)
	case r.StatusCode >= 500, r.StatusCode == http.StatusRequestTimeout, r.StatusCode == http.StatusTooManyRequests,
		r.StatusCode == 0, r.Code == "RequestTimeout", r.Code == "OperationAborted", r.Code == "NoSuchUpload":
		return errors.New("S3 answers " + r.Code + ": " + r.Message)
	}
	return rejectf("S3 refuses (%s): %s", r.Code, r.Message)
}
