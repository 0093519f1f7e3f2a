//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// snapshots is where RKE2 has them.
const snapshots = data + "/server/db/snapshots"

// snapshot writes what etcd has to a file, which is named as RKE2 names it.
func (c *config) snapshot(name string) error {
	res, err := http.Post(etcdURL+"/v3/maintenance/snapshot", "application/json", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("take a snapshot: %s", res.Status)
	}
	if err := os.MkdirAll(snapshots, 0o700); err != nil {
		return err
	}
	to, err := os.OpenFile(filepath.Join(snapshots, fmt.Sprintf("%s-%s-%d", name, c.Name, time.Now().Unix())), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(copyBlobs(to, res.Body), to.Close())
}

// copyBlobs writes the parts of a snapshot, as etcd streams them.
func copyBlobs(to io.Writer, from io.Reader) error {
	for d := json.NewDecoder(from); ; {
		var part struct {
			Result struct {
				Blob []byte `json:"blob"`
			} `json:"result"`
			Error *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		err := d.Decode(&part)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case part.Error != nil:
			return errors.New(part.Error.Message)
		}
		if _, err := to.Write(part.Result.Blob); err != nil {
			return err
		}
	}
}

// reset makes this the only member of an etcd that has what a snapshot has.
func (c *config) reset(snapshot string) error {
	if c.Server != "" { // as RKE2 does
		return errors.New("cannot perform cluster-reset while server URL is set - remove server from configuration before resetting")
	}
	pod, err := vipPod()
	if err != nil {
		return err
	}
	own, err := ownAddress(pod.env("address"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(etcdData); err != nil {
		return err
	}
	return command(filepath.Join(programs, "etcdutl"), "snapshot", "restore", snapshot, "--data-dir", etcdData, "--name", c.Name, "--initial-cluster", c.Name+"="+peerURL(own), "--initial-advertise-peer-urls", peerURL(own))
}
