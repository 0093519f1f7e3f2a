package pvesim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// storageSecrets keeps the secrets that a call has for a storage apart from
// storage.cfg, and returns what the caller gets to see of them: nothing for
// most types. Only those of a backup server leave a trace in storage.cfg.
func (c *call) storageSecrets(typ string, conf map[string]string) (map[string]any, error) {
	if typ != "pbs" {
		return nil, nil
	}
	shown := map[string]any{}
	if c.params.Has("encryption-key") {
		key, err := c.encryptionKey(c.params.Str("encryption-key"))
		if err != nil {
			return nil, err
		}
		conf["encryption-key"] = key.Fingerprint
		if key.Fingerprint == "" {
			conf["encryption-key"] = "1"
		}
		shown["encryption-key"] = key.text
	}
	if c.params.Has("master-pubkey") {
		conf["master-pubkey"] = "1"
	}
	return shown, nil
}

// encryptionKey is a key of the backup client, as its file holds it.
type encryptionKey struct {
	KDF         *string `json:"kdf"`
	Created     string  `json:"created"`
	Modified    string  `json:"modified"`
	Data        string  `json:"data"`
	Fingerprint string  `json:"fingerprint"`
	text        string
}

// encryptionKey reads a key, or makes one for "autogen".
func (c *call) encryptionKey(text string) (*encryptionKey, error) {
	if text == "autogen" {
		return c.newEncryptionKey()
	}
	var given map[string]any
	err := json.Unmarshal([]byte(text), &given)
	if _, ok := given["data"]; err != nil || !ok {
		return nil, die("Value does not seems like a valid, JSON formatted encryption key!")
	}
	key := &encryptionKey{text: text}
	if print := given["fingerprint"]; print != nil {
		key.Fingerprint = fmt.Sprint(print)
	}
	return key, nil
}

func (c *call) newEncryptionKey() (*encryptionKey, error) {
	now := c.now().UTC()
	secret := c.random("encryption key", c.params.Str("storage"), now.String())[:32]
	key := &encryptionKey{Data: base64.StdEncoding.EncodeToString(secret), Fingerprint: strings.ToLower(colons(secret))}
	key.Created = now.Format(time.RFC3339)
	key.Modified = key.Created
	text, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	key.text = string(text)
	return key, nil
}
