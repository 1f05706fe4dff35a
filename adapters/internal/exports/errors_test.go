package exports

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A user who tests destinations gets no names and addresses of the server's network.
func TestExplainNet_NamesNoHosts(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 5432}
	certificate := &x509.Certificate{DNSNames: []string{"vault.internal"}}
	for text, err := range map[string]error{
		"its name has no address":        &net.DNSError{Err: "no such host", Name: "vault.internal", Server: "10.9.8.7:53", IsNotFound: true},
		"its name cannot be looked up":   &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "vault.internal", Server: "10.9.8.7:53"}},
		"connection refused":             &url.Error{Op: "Post", URL: "http://vault.internal/", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}},
		"timeout":                        &net.OpError{Op: "read", Net: "tcp", Source: at, Addr: at, Err: os.ErrDeadlineExceeded},
		"the connection broke":           &net.OpError{Op: "dial", Addr: at, Err: errors.New("something about vault.internal")},
		"it is not for this name":        &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: certificate, Host: "10.9.8.7"}},
		"signed by an unknown authority": &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{Cert: certificate}},
		"does not speak HTTP":            &url.Error{Op: "Post", URL: "http://vault.internal/", Err: fmt.Errorf("malformed HTTP response %q", "SSH-2.0 vault.internal")},
		"is not public":                  &url.Error{Op: "Post", URL: "http://vault.internal/", Err: &addressError{}},
	} {
		got := explainNet(err).Error()
		if !strings.Contains(got, text) || strings.Contains(got, "vault") || strings.Contains(got, "10.9") {
			t.Errorf("%v is told as %q, want %q and no host", err, got, text)
		}
	}
}
