package model

// Guest returns the VMID of the guest that the action is about; 0: none.
func (c Clone) Guest() int          { return c.To.VMID }
func (Download) Guest() int         { return 0 }
func (Unpack) Guest() int           { return 0 }
func (u UploadSeed) Guest() int     { return u.For }
func (u UploadSnippets) Guest() int { return u.For }
func (r RemoveFile) Guest() int     { return r.For }
func (r RemoveDisk) Guest() int     { return r.Left.VMID }
func (h SetHA) Guest() int          { return h.VMID }
func (k KeepApart) Guest() int      { return k.VMID }
func (p SetPool) Guest() int        { return p.VMID }
func (MakeShare) Guest() int        { return 0 }
func (r RemoveShare) Guest() int    { return r.For }

func (Clone) action()          {}
func (Create) action()         {}
func (Configure) action()      {}
func (Resize) action()         {}
func (MoveDisk) action()       {}
func (Migrate) action()        {}
func (Start) action()          {}
func (Resume) action()         {}
func (Shutdown) action()       {}
func (Stop) action()           {}
func (Reboot) action()         {}
func (Destroy) action()        {}
func (Release) action()        {}
func (MakeTemplate) action()   {}
func (Snap) action()           {}
func (Unsnap) action()         {}
func (Rollback) action()       {}
func (Download) action()       {}
func (Unpack) action()         {}
func (UploadSeed) action()     {}
func (UploadSnippets) action() {}
func (RemoveFile) action()     {}
func (RemoveDisk) action()     {}
func (SetHA) action()          {}
func (KeepApart) action()      {}
func (SetPool) action()        {}
func (SetFirewall) action()    {}
func (MakeShare) action()      {}
func (RemoveShare) action()    {}
func (Detach) action()         {}
func (Exec) action()           {}
func (ReadFile) action()       {}
