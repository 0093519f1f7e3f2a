package pvesim

// qemuSnapshotRoutes take, list, delete and roll back to snapshots.
func qemuSnapshotRoutes() map[string]handler {
	return map[string]handler{}
}
