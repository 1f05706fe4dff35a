package exports_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// The server's certificate must be valid, unless a self-signed one is allowed.
func testPGTLS(t *testing.T, h *pgHost) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config, conn := h.database(t)
	secured := func() string {
		return rowsOf(t, conn, "SELECT ssl FROM tls_seen")[0]
	}
	exec(t, conn, `CREATE TABLE tls_seen (ssl bool); GRANT ALL ON tls_seen TO ann_s3cret;
		CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			DELETE FROM tls_seen; INSERT INTO tls_seen SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid(); RETURN NULL;
		END $$;
		CREATE TABLE events (uuid text PRIMARY KEY); ALTER TABLE events OWNER TO ann_s3cret;
		CREATE TRIGGER see AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION see()`)
	runs := 0
	try := func(r *exports.Runner) error {
		runs++
		j := job("Postgres", config, 0)
		j.Run, j.Columns = fmt.Sprint(runs), []batchexports.Column{{Name: "uuid"}}
		_, err := r.Run(t.Context(), jobOf(j, []any{"a"}))
		return err
	}
	if err := try(newRunner()); err != nil || secured() != `{"ssl": false}` {
		t.Errorf("without TLS: %v, %s", err, secured())
	}
	h.WriteFile(t, "data/server.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	h.WriteFile(t, "data/server.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	h.Admin(t, "ALTER SYSTEM SET ssl = on")
	h.Stop(t)
	h.Start(t)
	defer func() {
		h.Admin(t, "ALTER SYSTEM SET ssl = off")
		h.Stop(t)
		h.Start(t)
	}()
	if conn, err = pgx.ConnectConfig(t.Context(), conn.Config()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()

	wantError(t, try(newRunner()), "certificate is not trusted", true)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	if err := try(exports.New(exports.Config{Allowed: loopback, RootCAs: roots})); err != nil || secured() != `{"ssl": true}` {
		t.Errorf("with a good certificate: %v, %s", err, secured())
	}
	exec(t, conn, "DELETE FROM tls_seen; INSERT INTO tls_seen VALUES (NULL)")
	config["has_self_signed_cert"] = true
	if err := try(newRunner()); err != nil || secured() != `{"ssl": true}` {
		t.Errorf("with a self-signed certificate: %v, %s", err, secured())
	}
}
