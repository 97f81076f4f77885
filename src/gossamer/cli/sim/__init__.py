"""`gossamer sim`: meshes on a virtual network."""
