// Times Pinocchio's C++ algorithms on a model and on samples written by kinecast.bench.native.
//
//   peer MODEL_FILE SECONDS          (seconds: time spent on each algorithm)
//
// The model file is numbers and words separated by white space:
//   <gravity: 3>  <joints>  <samples>
//   a joint:   <kind> <parent> <axis: 3> <rotation: 9, row by row> <translation: 3> <mass> <com: 3> <inertia: 9> <armature>
//   a sample:  <q: nq> <v: nv> <a: nv> <tau: nv>
// kind: revolute | prismatic | free | ball.  parent: 0 is the ground, k the k-th joint of the file.
// Placement: joint frame in the parent's joint frame.  Mass, com, inertia (about the com): of the body, in the joint frame.
//
// It writes one line an algorithm: <algorithm> <microseconds a sample> <first result on the first sample>.
// The time is the shortest of many passes over all samples; results stay in Pinocchio's own Data.

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using pinocchio::Convention;
using Vector = Eigen::VectorXd;

struct Sample {
  Vector q, v, a, tau;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : stream_(path) {}

  template <class T>
  T next() {
    T value;
    if (!(stream_ >> value)) throw std::runtime_error("the model file ends too early");
    return value;
  }

  template <class Matrix>
  Matrix matrix() {  // row by row
    Matrix result;
    for (Eigen::Index i = 0; i < result.rows(); ++i)
      for (Eigen::Index j = 0; j < result.cols(); ++j) result(i, j) = next<double>();
    return result;
  }

  Vector vector(Eigen::Index size) {
    Vector result(size);
    for (Eigen::Index i = 0; i < size; ++i) result[i] = next<double>();
    return result;
  }

 private:
  std::ifstream stream_;
};

pinocchio::JointModel joint_model(const std::string& kind, const Eigen::Vector3d& axis) {
  if (kind == "free") return pinocchio::JointModelFreeFlyer();
  if (kind == "ball") return pinocchio::JointModelSpherical();
  const bool x = axis.x() == 1, y = axis.y() == 1, z = axis.z() == 1;
  if (kind == "revolute") {
    if (x) return pinocchio::JointModelRX();
    if (y) return pinocchio::JointModelRY();
    if (z) return pinocchio::JointModelRZ();
    return pinocchio::JointModelRevoluteUnaligned(axis);
  }
  if (kind == "prismatic") {
    if (x) return pinocchio::JointModelPX();
    if (y) return pinocchio::JointModelPY();
    if (z) return pinocchio::JointModelPZ();
    return pinocchio::JointModelPrismaticUnaligned(axis);
  }
  throw std::runtime_error("joint kind " + kind);
}

pinocchio::Model read_model(Reader& reader, int joints) {
  pinocchio::Model model;
  std::vector<double> armature;
  for (int j = 1; j <= joints; ++j) {
    const auto kind = reader.next<std::string>();
    const auto parent = reader.next<unsigned long>();
    const auto axis = reader.matrix<Eigen::Vector3d>();
    const auto rotation = reader.matrix<Eigen::Matrix3d>();
    const auto translation = reader.matrix<Eigen::Vector3d>();
    const auto mass = reader.next<double>();
    const auto com = reader.matrix<Eigen::Vector3d>();
    const auto inertia = reader.matrix<Eigen::Matrix3d>();
    const auto rotor = reader.next<double>();
    const auto id = model.addJoint(parent, joint_model(kind, axis), pinocchio::SE3(rotation, translation),
                                   "joint" + std::to_string(j));
    model.appendBodyToJoint(id, pinocchio::Inertia(mass, com, inertia), pinocchio::SE3::Identity());
    armature.insert(armature.end(), model.joints[id].nv(), rotor);
  }
  model.armature = Eigen::Map<const Vector>(armature.data(), static_cast<Eigen::Index>(armature.size()));
  return model;
}

double best_microseconds(const std::vector<Sample>& samples, double seconds,
                         const std::function<void(const Sample&)>& pass) {
  using Clock = std::chrono::steady_clock;
  const auto elapsed = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  double best = 1e300;
  const auto begin = Clock::now();
  for (int k = 0; k < 5 || elapsed(begin) < seconds; ++k) {
    const auto start = Clock::now();
    for (const auto& sample : samples) pass(sample);
    best = std::min(best, elapsed(start));
  }
  return best * 1e6 / static_cast<double>(samples.size());
}

void run(const std::string& path, double seconds) {
  Reader reader(path);
  const auto gravity = reader.matrix<Eigen::Vector3d>();
  const auto joints = reader.next<int>();
  const auto count = reader.next<int>();
  auto model = read_model(reader, joints);
  model.gravity.linear(gravity);
  const auto tip = model.addFrame(pinocchio::Frame("tip", static_cast<pinocchio::JointIndex>(joints), 0,
                                                   pinocchio::SE3::Identity(), pinocchio::OP_FRAME));
  std::vector<Sample> samples;
  for (int k = 0; k < count; ++k) {
    Sample sample;
    sample.q = reader.vector(model.nq);
    sample.v = reader.vector(model.nv);
    sample.a = reader.vector(model.nv);
    sample.tau = reader.vector(model.nv);
    samples.push_back(std::move(sample));
  }
  pinocchio::Data data(model);
  pinocchio::Data::Matrix6x jacobian = pinocchio::Data::Matrix6x::Zero(6, model.nv);
  double first = 0;  // also keeps the compiler from dropping the work

  const auto report = [&](const char* algorithm, const std::function<void(const Sample&)>& pass) {
    const double microseconds = best_microseconds(samples, seconds, pass);
    pass(samples.front());
    std::printf("%s %.5f %.17g\n", algorithm, microseconds, first);
    std::fflush(stdout);
  };

  report("inverse_dynamics", [&](const Sample& s) { first = pinocchio::rnea(model, data, s.q, s.v, s.a)[0]; });
  report("inverse_dynamics_sensitivities", [&](const Sample& s) {
    pinocchio::computeRNEADerivatives(model, data, s.q, s.v, s.a);
    first = data.dtau_dv(0, 0);
  });
  for (const auto convention : {Convention::LOCAL, Convention::WORLD}) {
    report("forward_dynamics", [&](const Sample& s) {
      first = pinocchio::aba(model, data, s.q, s.v, s.tau, convention)[0];
    });
    report("mass_matrix", [&](const Sample& s) { first = pinocchio::crba(model, data, s.q, convention)(0, 0); });
  }
  report("forward_dynamics_sensitivities", [&](const Sample& s) {
    pinocchio::computeABADerivatives(model, data, s.q, s.v, s.tau);
    first = data.ddq_dv(0, 0);
  });
  report("inverse_mass_matrix", [&](const Sample& s) {
    first = pinocchio::computeMinverse(model, data, s.q)(0, 0);
  });
  report("coriolis_matrix", [&](const Sample& s) {
    first = pinocchio::computeCoriolisMatrix(model, data, s.q, s.v)(0, 0);
  });
  report("jacobian", [&](const Sample& s) {
    pinocchio::computeFrameJacobian(model, data, s.q, tip, pinocchio::LOCAL_WORLD_ALIGNED, jacobian);
    first = jacobian(3, 0);
  });
  report("center_of_mass", [&](const Sample& s) { first = pinocchio::centerOfMass(model, data, s.q)[0]; });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: peer MODEL_FILE SECONDS\n");
    return 2;
  }
  try {
    run(argv[1], std::atof(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
