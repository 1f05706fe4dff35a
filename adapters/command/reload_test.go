package command

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// certify writes a certificate for 127.0.0.1 with a serial number, and its key.
func certify(t *testing.T, cert, key string, serial int64) *x509.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}, &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}}, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// On SIGHUP the real program reads certificates and definitions again. Invalid ones leave the last
// valid ones in use, and a request under way is completed.
func TestServe_SIGHUP(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	definitions := clitest.TempFile(t, "f.json", `{"projects": [{"id": 1, "api_key": "phc_hup", "flags": []}]}`)
	certify(t, cert, key, 1)
	s := &instance{t: t, stdout: clitest.NewOutput(), stderr: clitest.NewOutput(), ended: make(chan int, 1)}
	cmd := program(t, "serve", "--listen", "127.0.0.1:0", "--definitions", definitions, "--data", filepath.Join(dir, "data"), "--tls-cert", cert, "--tls-key", key)
	cmd.Stdout, cmd.Stderr = s.stdout, s.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		s.ended <- cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	s.url = s.address(s.stdout)
	if !strings.HasPrefix(s.url, "https://") || !strings.Contains(s.stdout.String(), "curl -s 'https://") {
		t.Fatalf("start: %s", s.stdout)
	}
	address := strings.TrimPrefix(s.url, "https://")

	// serial returns the serial number of the certificate on a new connection.
	serial := func() int64 {
		t.Helper()
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	hangUp := func(want string) {
		t.Helper()
		before := strings.Count(s.stderr.String(), want)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		deadline := time.After(clitest.WaitTimeout)
		for strings.Count(s.stderr.String(), want) == before {
			select {
			case <-s.stderr.OnWrite:
			case code := <-s.ended:
				t.Fatalf("ended with %d: %s", code, s.stderr)
			case <-deadline:
				t.Fatalf("no %q in the log: %s", want, s.stderr)
			}
		}
	}
	if got := serial(); got != 1 {
		t.Errorf("certificate %d", got)
	}
	underWay, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = underWay.Close() }()
	body := `{"api_key":"phc_hup","distinct_id":"u"}`
	if _, err := underWay.Write([]byte("POST /flags?v=2 HTTP/1.1\r\nHost: x\r\nContent-Length: 39\r\nConnection: close\r\n\r\n" + body[:10])); err != nil {
		t.Fatal(err)
	}

	certify(t, cert, key, 2)
	hangUp("definitions read again")
	if got := serial(); got != 2 {
		t.Errorf("certificate %d after SIGHUP", got)
	}
	if err := os.WriteFile(cert, []byte("half a certifi"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp("certificates cannot be read again, the last valid version stays in use")
	if got := serial(); got != 2 {
		t.Errorf("certificate %d after a bad one", got)
	}
	certify(t, cert, key, 3)
	if err := os.WriteFile(definitions, []byte(`{"projects": [`), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp("definitions cannot be read again, the last valid version stays in use")

	if _, err := underWay.Write([]byte(body[10:])); err != nil {
		t.Fatal(err)
	}
	var answer bytes.Buffer
	_ = underWay.SetReadDeadline(time.Now().Add(clitest.WaitTimeout))
	_, _ = answer.ReadFrom(underWay)
	if !strings.HasPrefix(answer.String(), "HTTP/1.1 200") {
		t.Errorf("the request under way: %q", answer.String())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.wait(0)
}

// Certificates that cannot be used end the start with an error that names the setting.
func TestServe_TLSFaults(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certify(t, cert, key, 1)
	for want, args := range map[string][]string{
		"--tls-cert and --tls-key are needed together": {"--tls-cert", cert},
		"--tls-cert, --tls-key: ":                      {"--tls-cert", cert, "--tls-key", cert},
	} {
		var stderr bytes.Buffer
		args = append([]string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, args...)
		code := run(t.Context(), args, strings.NewReader(""), &stderr, &stderr, nil)
		if code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
		}
	}
}

// Failed requests are logged with the error code of their response.
func TestServe_LogRequests(t *testing.T) {
	s := serve(t, time.Minute, "--definitions", demo)
	resp, err := httpClient.Get(s.url + "/nowhere")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if code, _ := s.get("/metrics", ""); code != http.StatusOK {
		t.Errorf("metrics: %d", code)
	}
	s.logged("request_id=" + resp.Header.Get("X-Request-Id"))
	if log := s.stderr.String(); strings.Contains(log, "route=/metrics") || !strings.Contains(log, "route=other status=404") {
		t.Errorf("log: %s", log)
	}
}
