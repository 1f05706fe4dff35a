package exports

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// maxReason bounds the text of an error, in bytes.
const maxReason = 1000

// refused makes an error that lasts until somebody changes something.
func refused(format string, args ...any) error {
	return &management.ExportRefused{Reason: fmt.Sprintf(format, args...)}
}

func isRefused(err error) bool {
	var r *management.ExportRefused
	return errors.As(err, &r)
}

// told is an error as people may be told it: a text alone, without secrets.
func told(d destination, err error) error {
	if !isRefused(err) {
		err = d.explain(err)
	}
	text := err.Error()
	var r *management.ExportRefused
	if errors.As(err, &r) {
		text = r.Reason
	}
	text = redact(text, d.secrets())
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	if r != nil {
		return &management.ExportRefused{Reason: text}
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
// and certificates that are not good last, the others pass.
func explainNet(err error) error {
	var address *addressError
	var certificate *tls.CertificateVerificationError
	var request *url.Error
	switch {
	case errors.As(err, &address):
		return refused("%s", address.Error())
	case errors.As(err, &certificate):
		return refused("The server's certificate is not trusted: %v", certificate.Err)
	case errors.As(err, &request):
		return request.Err // without the URL
	}
	return err
}
