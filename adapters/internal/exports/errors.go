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

// maxReason is the maximum length of an error message, in bytes.
const maxReason = 1000

// rejectf returns a PermanentError: attempts fail until the configuration changes.
func rejectf(format string, args ...any) error {
	return &batchexports.PermanentError{Reason: fmt.Sprintf(format, args...)}
}

// isRejected reports whether err is a PermanentError.
func isRejected(err error) bool {
	var r *batchexports.PermanentError
	return errors.As(err, &r)
}

// withoutSecrets returns an error that can be shown to people: it has only a message, explained by
// d and without d's secrets.
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

// redact replaces secrets in a string, also in their escaped forms in URLs and quoted strings.
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

// explainNet explains errors of connections. Addresses that are not allowed and invalid
// certificates are permanent, all other errors temporary. Messages do not include hosts: a name or
// an address may come from a redirect or from the DNS of the server's own network, and everyone who
// can configure exports can read the message.
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
		if strings.Contains(request.Err.Error(), "malformed HTTP") { // the error includes the start of the response
			return errors.New("the server does not speak HTTP")
		}
		return request.Err // without the URL
	}
	return err
}

// describeUnreachable returns the error of a connection without its addresses.
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

// certificateReason describes why a certificate is invalid, without its names and its issuer.
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
