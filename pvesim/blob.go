package pvesim

// blobStore keeps the bytes of uploaded and downloaded files.
type blobStore struct{}

func (b *blobStore) init(dir string) {}
func (b *blobStore) close()          {}
