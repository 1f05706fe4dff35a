package exports

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// maxReason bounds the text of an error, in bytes.
const maxReason = 1000

// rejectf makes an error that lasts until somebody changes something.
func rejectf(format string, args ...any) error {
	return &batchexports.PermanentError{Reason: fmt.Sprintf(format, args...)}
}

func isRejected(err error) bool {
	var r *batchexports.PermanentError
	return errors.As(err, &r)
}

// withoutSecrets is an error as people may be told it: a text alone, without secrets.
func withoutSecrets(d destination, err error) error {
	if !isRejected(err) {
		err = d.explain(err)
	}
	text := err.Error()
	var r *batchexports.PermanentError
	if errors.As(err, &r) {
		text = r.Reason
	}
	text = redact(text, d.secrets())
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	if r != nil {
		return &batchexports.PermanentError{Reason: text}
	}
	return errors.New(text)
}

// redact takes secrets out of a text, also as they are written in URLs and
// between quotes.
func redact(text string, secrets []string) string {
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted := strconv.Quote(s)
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), quoted[1 : len(quoted)-1]} {
			text = strings.ReplaceAll(text, form, "***")
		}
	}
	return text
}

// explainNet explains errors of connections: addresses that may not be reached
// and certificates that are not good last, the others pass. What it says names no
// host: a name or an address may come from a redirect or from the DNS of the
// server's own network, and the error may be read by whoever makes exports.
func explainNet(err error) error {
	var address *addressError
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	var dial *net.OpError
	var request *url.Error
	switch {
	case errors.As(err, &address):
		return rejectf("%s", address.Error())
	case errors.As(err, &certificate):
		return rejectf("The server's certificate is not trusted: %s", certificateReason(certificate.Err))
	case errors.As(err, &name) && name.IsNotFound:
		return errors.New("the server cannot be reached: its name has no address")
	case errors.As(err, &name):
		return errors.New("the server cannot be reached: its name cannot be looked up")
	case errors.As(err, &dial):
		return describeUnreachable(dial)
	case errors.As(err, &request):
		if strings.Contains(request.Err.Error(), "malformed HTTP") { // which shows what it says instead
			return errors.New("the server does not speak HTTP")
		}
		return request.Err // without the URL
	}
	return err
}

func describeUnreachable(err *net.OpError) error {
	var code syscall.Errno
	reason := "the connection broke"
	switch {
	case err.Timeout():
		reason = "timeout"
	case errors.As(err, &code):
		reason = code.Error()
	case strings.HasPrefix(err.Err.Error(), "tls: "):
		reason = err.Err.Error()
	}
	return errors.New("the server cannot be reached: " + reason)
}

// certificateReason leaves out for which names a certificate is, and who signed it.
func certificateReason(err error) string {
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &host):
		return "it is not for this name"
	case errors.As(err, &unknown):
		return "it is signed by an unknown authority"
	}
	return err.Error()
}
