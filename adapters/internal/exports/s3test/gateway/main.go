// Command gateway is an S3 server over a folder for the tests: versitygw, which
// checks credentials, signatures and parts as S3 does.
//
//	gateway FOLDER PORT
//
// FOLDER has to have the folders data and meta. The keys are those of the
// environment variables ROOT_ACCESS_KEY and ROOT_SECRET_KEY, of the account that
// may do everything. It ends when its input does.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	folder, port := os.Args[1], os.Args[2]
	attributes, err := meta.NewSideCar(filepath.Join(folder, "meta"))
	if err != nil {
		log.Fatal(err)
	}
	backend, err := posix.New(filepath.Join(folder, "data"), attributes, posix.PosixOpts{SideCarDir: filepath.Join(folder, "meta")})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the tests
		os.Exit(0)
	}()
	log.Fatal(embedgw.RunVersityGW(context.Background(), backend, &embedgw.Config{
		RootUserAccess: os.Getenv("ROOT_ACCESS_KEY"), RootUserSecret: os.Getenv("ROOT_SECRET_KEY"),
		IAMDir: filepath.Join(folder, "iam"), Region: "us-east-1", VirtualDomain: "s3.localhost",
		Ports: []string{"127.0.0.1:" + port}, MaxConnections: 100, MaxRequests: 100, MultipartMaxParts: 10_000,
		KeepAlive: true, Quiet: true, HealthPath: "/healthz",
	}))
}
