struct Box {
  int *P;
  int Sum;
};

extern "C" __global__ void readBox(Box *B) { B->Sum += *B->P; }
